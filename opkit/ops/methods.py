"""The operators of a value, one table for every mode: Tensor and Variable install the same builders.

They follow the dialect of the values: a framework's rules apply to its own values.

Methods with names (``x.sum(axis)``) have their framework's argument order: see its facade.
"""

from __future__ import annotations

from typing import Any

from opkit.ops.arrange.indexing import getitem
from opkit.ops.basis.arithmetic import neg
from opkit.ops.core.meeting import dialect_of
from opkit.ops.core.types import Function
from opkit.ops.dialects import builders_for
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.bitwise import bitwise_not
from opkit.ops.pointwise.compare import logical_not

Builder = Function

#: Builders by name that follow the dialect of the values they get.
BUILDERS: dict[str, Builder] = builders_for(dialect_of)


def _reflected(build: Builder) -> Builder:
    return lambda self, other: build(other, self)


_add_number, _sub = BUILDERS["scalar_add"], BUILDERS["sub"]


def _reflected_sub(self: Any, other: Any) -> Any:
    # A number minus a tensor is the negated tensor plus the number; ``sub`` would have to find that out first.
    return _add_number(neg(self), other) if type(other) in (int, float) else _sub(other, self)


def _by_kind(logical: Builder, bitwise: Builder) -> Builder:
    """Return the operator that is logical on booleans and bitwise on integers."""
    return lambda self, *other: (logical if self._data.dtype.kind == "b" else bitwise)(self, *other)


#: Special method name -> builder.
OPERATORS: dict[str, Builder] = {
    "__add__": BUILDERS["add"],
    "__radd__": BUILDERS["add"],
    "__sub__": _sub,
    "__rsub__": _reflected_sub,
    "__mul__": BUILDERS["mul"],
    "__rmul__": BUILDERS["mul"],
    "__truediv__": BUILDERS["div"],
    "__rtruediv__": _reflected(BUILDERS["div"]),
    "__floordiv__": BUILDERS["floor_div"],
    "__rfloordiv__": _reflected(BUILDERS["floor_div"]),
    "__mod__": BUILDERS["floor_mod"],
    "__rmod__": _reflected(BUILDERS["floor_mod"]),
    "__pow__": BUILDERS["pow"],
    "__rpow__": _reflected(BUILDERS["pow"]),
    "__matmul__": matmul,
    "__rmatmul__": _reflected(matmul),
    "__neg__": neg,
    "__abs__": BUILDERS["abs"],
    "__invert__": _by_kind(logical_not, bitwise_not),
    "__and__": _by_kind(BUILDERS["logical_and"], BUILDERS["bitwise_and"]),
    "__or__": _by_kind(BUILDERS["logical_or"], BUILDERS["bitwise_or"]),
    "__xor__": _by_kind(BUILDERS["logical_xor"], BUILDERS["bitwise_xor"]),
    "__eq__": BUILDERS["equal"],
    "__ne__": BUILDERS["not_equal"],
    "__lt__": BUILDERS["less"],
    "__le__": BUILDERS["less_equal"],
    "__gt__": BUILDERS["greater"],
    "__ge__": BUILDERS["greater_equal"],
    "__getitem__": getitem,
}


def install_operators(kind: type) -> None:
    """Give a class of values, Tensors or Variables, all operators; it stays hashable by identity."""
    for name, build in OPERATORS.items():
        setattr(kind, name, build)
    kind.__hash__ = object.__hash__  # type: ignore[assignment]
