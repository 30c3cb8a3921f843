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
from opkit.tables import pairs

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


#: Special methods whose operands are those of a builder, and those whose operands are turned round.
_DIRECT = pairs(
    """
    add add  radd add  mul mul  rmul mul  truediv div  floordiv floor_div  mod floor_mod  pow pow
    abs abs  eq equal  ne not_equal  lt less  le less_equal  gt greater  ge greater_equal
    """
)
_REFLECTED = pairs("rtruediv div  rfloordiv floor_div  rmod floor_mod  rpow pow")
#: Special method name -> builder.
OPERATORS: dict[str, Builder] = {
    **{f"__{special}__": BUILDERS[name] for special, name in _DIRECT.items()},
    **{f"__{special}__": _reflected(BUILDERS[name]) for special, name in _REFLECTED.items()},
    "__sub__": _sub,
    "__rsub__": _reflected_sub,
    "__matmul__": matmul,
    "__rmatmul__": _reflected(matmul),
    "__neg__": neg,
    "__invert__": _by_kind(logical_not, bitwise_not),
    "__and__": _by_kind(BUILDERS["logical_and"], BUILDERS["bitwise_and"]),
    "__or__": _by_kind(BUILDERS["logical_or"], BUILDERS["bitwise_or"]),
    "__xor__": _by_kind(BUILDERS["logical_xor"], BUILDERS["bitwise_xor"]),
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
