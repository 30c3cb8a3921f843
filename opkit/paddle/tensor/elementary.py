"""More functions of one or two operands, element by element."""

from __future__ import annotations

import math
from typing import Any

from opkit.errors import DtypeError
from opkit.ops.composed import pointwise
from opkit.ops.core.types import Name
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value, needed

__all__ = ["deg2rad", "erfinv", "fmax", "fmin", "frac", "heaviside", "nan_to_num", "rad2deg"]


class FloatsError(DtypeError, RuntimeError):
    """A function of floating-point tensors got another (Paddle raises RuntimeError)."""


def _floats(function: str, x: Any) -> Any:
    """Return a value in floating point: integers in the default dtype."""
    kind = need_value(function, "x", x)._data.dtype.kind
    return x if kind in "fc" else ops.cast(x, default_dtype())


# ---- one operand -----------------------------------------------------------------------------------------------------
def deg2rad(x: Any, name: Name = None) -> Any:
    """Return degrees as radians."""
    return ops.mul(_floats("deg2rad", x), math.pi / 180)


def rad2deg(x: Any, name: Name = None) -> Any:
    """Return radians as degrees."""
    return ops.mul(_floats("rad2deg", x), 180 / math.pi)


def erfinv(x: Any, name: Name = None) -> Any:
    """Return y with ``erf(y) = x``."""
    if needed(x)._data.dtype.kind != "f":
        raise FloatsError(f"erfinv takes floating-point tensors, got {x._data.dtype}")
    return ops.erfinv(x)


def frac(x: Any, name: Name = None) -> Any:
    """Return what is behind the decimal point, with the sign of x."""
    return ops.sub(needed(x), x if x._data.dtype.kind in "iu" else ops.trunc(x))


def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: Name = None
) -> Any:
    """Return x with numbers in place of NaN and infinities; by default the dtype's largest and smallest."""
    if needed(x)._data.dtype.kind != "f":
        return ops.identity(x)
    largest, least = (None if item is None else float(item) for item in (posinf, neginf))
    return pointwise.finite_numbers(x, float(nan), largest, least)


# ---- two operands ----------------------------------------------------------------------------------------------------
def fmax(x: Any, y: Any, name: Name = None) -> Any:
    """Return the larger of two elements, the number where one is NaN; of equal ones x gets the gradient."""
    return pointwise.fmax(needed(x), needed(y))


def fmin(x: Any, y: Any, name: Name = None) -> Any:
    """Return the smaller of two elements, the number where one is NaN; of equal ones x gets the gradient."""
    return pointwise.fmin(needed(x), needed(y))


def heaviside(x: Any, y: Any, name: Name = None) -> Any:
    """Return 0 where x is negative, 1 where it is positive, and y where it is 0."""
    return pointwise.heaviside(needed(x), needed(y))
