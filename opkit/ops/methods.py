"""The operators of a value, one table for every mode: Tensor and Variable install the same builders.

What a framework's users call by name (``x.sum(axis)``) has that framework's argument order: see its facade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.ops.arrange.indexing import getitem
from opkit.ops.basis.arithmetic import add, div, floor_div, floor_mod, mul, neg, scalar_add, sub
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.bitwise import bitwise_and, bitwise_not, bitwise_or, bitwise_xor
from opkit.ops.pointwise.compare import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from opkit.ops.pointwise.elementwise import abs as absolute
from opkit.ops.pointwise.power import pow as power

__all__ = ["OPERATORS", "install_operators"]

Builder = Callable[..., Any]


def _reflected(build: Builder) -> Builder:
    return lambda self, other: build(other, self)


def _reflected_sub(self: Any, other: Any) -> Any:
    # A number minus a tensor is the negated tensor plus the number; ``sub`` would have to find that out first.
    return scalar_add(neg(self), other) if type(other) in (int, float) else sub(other, self)


def _by_kind(logical: Builder, bitwise: Builder) -> Builder:
    """Return the operator that is logical on booleans and bitwise on integers."""
    return lambda self, *other: (logical if self._data.dtype.kind == "b" else bitwise)(self, *other)


#: Special method name -> builder.
OPERATORS: dict[str, Builder] = {
    "__add__": add,
    "__radd__": add,
    "__sub__": sub,
    "__rsub__": _reflected_sub,
    "__mul__": mul,
    "__rmul__": mul,
    "__truediv__": div,
    "__rtruediv__": _reflected(div),
    "__floordiv__": floor_div,
    "__rfloordiv__": _reflected(floor_div),
    "__mod__": floor_mod,
    "__rmod__": _reflected(floor_mod),
    "__pow__": power,
    "__rpow__": _reflected(power),
    "__matmul__": matmul,
    "__rmatmul__": _reflected(matmul),
    "__neg__": neg,
    "__abs__": absolute,
    "__invert__": _by_kind(logical_not, bitwise_not),
    "__and__": _by_kind(logical_and, bitwise_and),
    "__or__": _by_kind(logical_or, bitwise_or),
    "__xor__": _by_kind(logical_xor, bitwise_xor),
    "__eq__": equal,
    "__ne__": not_equal,
    "__lt__": less,
    "__le__": less_equal,
    "__gt__": greater,
    "__ge__": greater_equal,
    "__getitem__": getitem,
}


def install_operators(kind: type, *, without: tuple[str, ...] = ()) -> None:
    """Give a class of values all operators; it stays hashable by identity.

    Args:
        kind: the class of Tensors or Variables.
        without: names to leave as they are.
    """
    for name, build in OPERATORS.items():
        if name not in without:
            setattr(kind, name, build)
    kind.__hash__ = object.__hash__  # type: ignore[assignment]
