"""Bitwise logic on integers, and logic on bools; no gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import DtypeError
from opkit.ops.basis.arithmetic import met
from opkit.ops.core.define import NO_ATTRS, define, named
from opkit.ops.core.inference import broadcasted, operands, unchanged
from opkit.ops.core.meeting import Choose, strictly
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Function
from opkit.ops.core.value import Value, desc_of, dtype_of


def _refuse_floats(name: str, *values: Value) -> None:
    if any(dtype_of(value).kind not in "biu" for value in values):
        raise DtypeError(f"op {name!r} got {operands([desc_of(v) for v in values])}: it takes integers or bools")


def _bitwise(name: str, kernel: Function) -> OpDef:
    return define(name, "x y", "out", kernel, infer=broadcasted(name), out=kernel, elementwise=True)


_PAIRS: dict[str, tuple[OpDef, str]] = {
    name: (_bitwise(name, kernel), text)
    for name, kernel, text in (
        ("bitwise_and", np.bitwise_and, "the bits set in both"),
        ("bitwise_or", np.bitwise_or, "the bits set in either"),
        ("bitwise_xor", np.bitwise_xor, "the bits set in one alone"),
        ("left_shift", np.left_shift, "x shifted left by y bits"),
        ("right_shift", np.right_shift, "x shifted right by y bits"),
    )
}


def _builder(opdef: OpDef, choose: Choose, text: str) -> Callable[[Any, Any], Any]:
    def build(x: Any, y: Any) -> Value:
        left, right = met(opdef.name, x, y, choose(x, y))
        _refuse_floats(opdef.name, left, right)
        return local.mode.apply(opdef, (left, right), NO_ATTRS)

    build.__doc__ = f"Return {text}, element by element; operands broadcast."
    return build


def bit_pairs(choose: Choose) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the builders of this module with two operands, by name."""
    return named({name: _builder(opdef, choose, text) for name, (opdef, text) in _PAIRS.items()})


bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift = bit_pairs(strictly).values()

BITWISE_NOT = define("bitwise_not", "x", "out", np.invert, infer=unchanged, out=np.invert, elementwise=True)


def bitwise_not(x: Value) -> Value:
    """Return the bits of an integer or bool tensor inverted."""
    _refuse_floats("bitwise_not", x)
    return local.mode.apply(BITWISE_NOT, (x,), NO_ATTRS)
