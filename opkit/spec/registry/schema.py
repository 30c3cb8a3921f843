"""Schema: the declared arguments and attributes of an op, and what attribute values they accept.

Values come in as users write them, and go out complete, or in the form that generated code reads.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from opkit.diagnostics import Span
from opkit.errors import DtypeError
from opkit.ir.dtype import canonical_dtype
from opkit.record import record
from opkit.spec.runtime.arithmetic import f32
from opkit.spec.runtime.objects import Shape


@record
class ArgSpec:
    """A declared input or output.

    Args:
        name: as in ``.Input("name")``.
        is_optional: whether it may be left out.
        count: how many blobs it has.
        is_variadic: whether ``count`` is the least, as in ``InputWithMinimum``.
        span: where it is declared.
    """

    name: str
    is_optional: bool = False
    count: int = 1
    is_variadic: bool = False
    span: Span | None = None


@record
class AttrSpec:
    """A declared attribute.

    Args:
        name: as in ``.Attr<T>("name")``.
        type: one of the 14 attribute types: int32, int64, bool, float, double, string, shape, data_type, or list_ of
            int32, int64, float, data_type, shape, string.
        default: the value it takes where none is given, as a plain Python value.
        span: where it is declared.
    """

    name: str
    type: str
    default: Any
    span: Span | None = None


_RANGES = {"int32": 1 << 31, "int64": 1 << 63}


def attr_value(kind: str, value: Any) -> Any:
    """Return a value as the plain Python value of an attribute type.

    Args:
        kind: an attribute type.
        value: what the user gave; numpy scalars and one-dimensional arrays are accepted.

    Raises:
        TypeError: it does not fit; the message says what was expected.
    """
    if kind.startswith("list_"):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise TypeError(f"expected a list, got {_shown(value)}")
        return [attr_value(kind[5:], item) for item in value]
    return _CHECKS[kind](kind, value)


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


def _integer(kind: str, value: Any) -> int:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        raise TypeError(f"expected an integer, got {_shown(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"expected an integer, got {_shown(value)}") from None
    limit = _RANGES[kind]
    if not -limit <= number < limit:
        raise TypeError(f"{number} does not fit {kind}")
    return number


def _bool(kind: str, value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise TypeError(f"expected a bool, got {_shown(value)}")


def _real(kind: str, value: Any) -> float:
    if isinstance(value, (bool, str, bytes)) or type(value).__name__ in ("bool_", "bool"):
        raise TypeError(f"expected a number, got {_shown(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"expected a number, got {_shown(value)}") from None


def _string(kind: str, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"expected a string, got {_shown(value)}")


def _shape(kind: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, Shape):
        return value.dims
    if isinstance(value, (str, bytes)) or (not isinstance(value, Sequence) and not hasattr(value, "__len__")):
        raise TypeError(f"expected a shape, got {_shown(value)}")
    if len(value) > 20:
        raise TypeError(f"a shape has at most 20 axes, not {len(value)}")
    return tuple(_integer("int64", item) for item in value)


def _data_type(kind: str, value: Any) -> str:
    try:
        return canonical_dtype(value)
    except (TypeError, DtypeError) as error:
        raise TypeError(f"expected a dtype, got {_shown(value)}") from error


_CHECKS = {
    "int32": _integer,
    "int64": _integer,
    "bool": _bool,
    "float": _real,
    "double": _real,
    "string": _string,
    "shape": _shape,
    "data_type": _data_type,
}


def runtime_value(kind: str, value: Any) -> Any:
    """Return a plain value in the form that generated code reads: float32 rounded, shapes as objects."""
    if kind == "float":
        return f32(value)
    if kind == "shape":
        return Shape(value)
    if kind == "list_float":
        return [f32(item) for item in value]
    if kind == "list_shape":
        return [Shape(item) for item in value]
    return list(value) if kind.startswith("list_") else value


def plain_value(kind: str, value: Any) -> Any:
    """Return what generated code holds as a plain Python value; a float32 as its shortest decimal."""
    if kind == "float":
        return shortest(value)
    if kind == "shape":
        return value.dims
    if kind == "list_float":
        return [shortest(item) for item in value]
    if kind == "list_shape":
        return [item.dims for item in value]
    return list(value) if kind.startswith("list_") else value


def shortest(value: float) -> float:
    """Return the shortest decimal that rounds to the same float32: 0.1, not 0.10000000149011612."""
    if value != value or value in (float("inf"), float("-inf")):
        return value
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if f32(short) == value:
            return short
    return value
