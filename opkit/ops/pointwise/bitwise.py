"""Bitwise logic on integers, and logic on bools; no gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import DtypeError
from opkit.ops.basis.arithmetic import promoted
from opkit.ops.basis.creation import as_value
from opkit.ops.core.define import NO_ATTRS, define
from opkit.ops.core.inference import broadcasted, operands, unchanged
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.value import Value, desc_of, dtype_of

__all__ = ["bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]


def _refuse_floats(name: str, *values: Value) -> None:
    if any(dtype_of(value).kind not in "biu" for value in values):
        raise DtypeError(f"op {name!r} got {operands([desc_of(v) for v in values])}: it takes integers or bools")


def _bitwise(name: str, kernel: Callable[..., Any], text: str) -> Callable[[Any, Any], Any]:
    opdef = define(name, "x y", "out", kernel, infer=broadcasted(name), out=kernel, elementwise=True)

    def build(x: Any, y: Any) -> Value:
        left, right = promoted(as_value(x, like=y), as_value(y, like=x))
        _refuse_floats(name, left, right)
        return local.mode.apply(opdef, (left, right), NO_ATTRS)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return {text}, element by element; operands broadcast and are promoted."
    return build


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, "the bits set in both")
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, "the bits set in either")
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, "the bits set in one alone")
left_shift = _bitwise("left_shift", np.left_shift, "x shifted left by y bits")
right_shift = _bitwise("right_shift", np.right_shift, "x shifted right by y bits")

BITWISE_NOT: OpDef = define(
    "bitwise_not", "x", "out", np.invert, infer=unchanged("bitwise_not"), out=np.invert, elementwise=True
)


def bitwise_not(x: Value) -> Value:
    """Return the bits of an integer or bool tensor inverted."""
    _refuse_floats("bitwise_not", x)
    return local.mode.apply(BITWISE_NOT, (x,), NO_ATTRS)
