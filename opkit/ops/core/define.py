"""``define``: the short way to write an OpDef down, and ``apply`` for builders.

No op is defined here; each family has a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from opkit.ops.core.opdef import ArgDef, AttrDef, GradRule, Infer, Kernel, OpDef
from opkit.ops.core.registry import BUILTIN

__all__ = ["NO_ATTRS", "attr_list", "define", "first_only", "quiet"]

#: The attributes of an op that has none.
NO_ATTRS: Mapping[str, Any] = MappingProxyType({})

#: Decorates a kernel: infinities and NaN are results, not warnings (FLAGS_check_nan_inf looks for them elsewhere).
quiet: Callable[[Callable[..., Any]], Callable[..., Any]] = np.errstate(all="ignore")


def define(
    name: str,
    inputs: str,
    outputs: str,
    kernel: Kernel,
    *,
    infer: Infer,
    grad: GradRule | None = None,
    attrs: str = "",
    defaults: Mapping[str, Any] = NO_ATTRS,
    reads: str = "",
    out: Kernel | None = None,
    elementwise: bool = False,
    view: bool = False,
    random: bool = False,
    side_effect: bool = False,
) -> OpDef:
    """Define a built-in op and register it.

    Args:
        name: op type name.
        inputs: names, in the kernel's order; ``?name`` is optional, ``*name`` variadic, ``=name`` read for its
            shape and dtype only.
        outputs: names, with the same marks.
        kernel: computes new arrays.
        infer: shape and dtype inference.
        grad: gradient rule.
        attrs: ``"axis:vector<int32> keepdims:bool"``.
        defaults: of attributes whose default is not their type's zero.
        reads: names of inputs and outputs whose data the rule reads.
        out: the kernel that writes into a buffer.
        elementwise: see ``OpDef.is_elementwise``.
        view: see ``OpDef.is_view``.
        random: see ``OpDef.is_random``.
        side_effect: see ``OpDef.has_side_effect``.
    """
    opdef = OpDef(
        name=name,
        inputs=tuple(map(_argument, inputs.split())),
        outputs=tuple(map(_argument, outputs.split())),
        attrs=attr_list(attrs, defaults),
        kernel=kernel,
        infer=infer,
        grad=grad,
        reads=tuple(reads.split()),
        kernel_out=out,
        is_elementwise=elementwise,
        is_view=view,
        is_random=random,
        has_side_effect=side_effect,
    )
    BUILTIN.add(opdef)
    return opdef


def _argument(text: str) -> ArgDef:
    name = text.lstrip("?*=")
    marks = text[: len(text) - len(name)]
    return ArgDef(name, is_optional="?" in marks, is_variadic="*" in marks, is_shape_only="=" in marks)


def attr_list(text: str, defaults: Mapping[str, Any] = NO_ATTRS) -> tuple[AttrDef, ...]:
    """Return the attributes that ``"name:type name:type"`` declares; a default left out is its type's zero."""
    attrs = []
    for item in text.split():
        name, _, kind = item.partition(":")
        zero = () if kind.startswith("vector") or kind == "shape" else _ZEROS[kind]
        attrs.append(AttrDef(name, kind, defaults.get(name, zero)))
    return tuple(attrs)


_ZEROS: dict[str, Any] = {
    "int32": 0,
    "int64": 0,
    "float": 0.0,
    "double": 0.0,
    "bool": False,
    "string": "",
    "data_type": "float32",
    "object": None,
}


def first_only(rule: Callable[[Any, Any], Any]) -> GradRule:
    """Return the gradient rule of a one-input, one-output op from ``rule(applied, dout) -> cotangent``."""
    return lambda applied, douts: (rule(applied, douts[0]),)
