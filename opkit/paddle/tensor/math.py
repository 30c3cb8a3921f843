"""Arithmetic, functions of one operand, reductions.

More functions of one or two operands, element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opkit.eager import Tensor
from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.ir import Variable, canonical_dtype
from opkit.listed import listed
from opkit.ops.composed import pointwise, statistics
from opkit.ops.core.types import Function, Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import arithmetic
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import axis_of, need_value, needed, of_one, titled
from opkit.shim.missing import guard as _guard
from opkit.static.overwriting import overwrite

__all__ = [
    "BINARY",
    "UNARY",
    "add_n",
    "all",
    "amax",
    "amin",
    "any",
    "clip",
    "cumprod",
    "cumsum",
    "deg2rad",
    "erfinv",
    "fmax",
    "fmin",
    "frac",
    "heaviside",
    "increment",
    "lerp",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "nan_to_num",
    "numel",
    "pow",
    "prod",
    "rad2deg",
    "scale",
    "std",
    "sum",
    "trace",
    "var",
]


# ---- functions of one operand ----------------------------------------------------------------------------------------
_OF_ONE = (
    ops.acos,
    ops.acosh,
    ops.asin,
    ops.asinh,
    ops.atan,
    ops.atanh,
    ops.ceil,
    ops.cos,
    ops.cosh,
    ops.digamma,
    ops.erf,
    ops.exp,
    ops.expm1,
    ops.floor,
    ops.isfinite,
    ops.isinf,
    ops.isnan,
    ops.lgamma,
    ops.log,
    ops.log10,
    ops.log1p,
    ops.log2,
    ops.neg,
    ops.reciprocal,
    ops.round,
    ops.rsqrt,
    ops.sigmoid,
    ops.sin,
    ops.sinh,
    ops.sqrt,
    ops.tan,
    ops.tanh,
    ops.bitwise_not,
)
#: Paddle's name -> the function; the builders have Paddle's names.
UNARY: dict[str, Function] = {
    name: of_one(name, build)
    for name, build in (*((build.__name__, build) for build in _OF_ONE), *arithmetic.CLOSED.items())
}


# ---- functions of two operands ---------------------------------------------------------------------------------------
def _binary(name: str, build: Callable[[Any, Any], Any]) -> Function:
    def function(x: Any, y: Any, name: Name = None) -> Any:
        if not hasattr(x, "_data"):
            need_value(function.__name__, "x", x)
        if not hasattr(y, "_data"):
            need_value(function.__name__, "y", y)
        return build(x, y)

    return titled(function, name, build.__doc__)


BINARY: dict[str, Function] = {
    name: _binary(name, build)
    for name, build in {
        "add": ops.add,
        "atan2": ops.atan2,
        "bitwise_and": ops.bitwise_and,
        "bitwise_or": ops.bitwise_or,
        "bitwise_xor": ops.bitwise_xor,
        "divide": arithmetic.divide,
        "floor_divide": ops.floor_div,
        "floor_mod": ops.floor_mod,
        "maximum": ops.maximum,
        "minimum": ops.minimum,
        "mod": ops.floor_mod,
        "multiply": ops.mul,
        "remainder": ops.floor_mod,
        "subtract": ops.sub,
    }.items()
}


def pow(x: Any, y: Any, name: Name = None) -> Any:
    """Return x to the power y, a tensor or a number."""
    return ops.pow(needed(x), y)


def scale(
    x: Any,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: Name = None,
) -> Any:
    """Return ``scale * x + bias``, or ``scale * (x + bias)``."""
    if act is not None:
        raise UsageError(f"scale: opkit does not apply an activation (act={act!r})")
    needed(x)
    return ops.add(ops.mul(x, scale), bias) if bias_after_scale else ops.mul(ops.add(x, bias), scale)


def clip(x: Any, min: Any = None, max: Any = None, name: Name = None) -> Any:
    """Return x cut off below ``min`` and above ``max``."""
    low, high = (bound.item() if hasattr(bound, "item") else bound for bound in (min, max))
    return ops.clip(needed(x), low, high)


def lerp(x: Any, y: Any, weight: Any, name: Name = None) -> Any:
    """Return ``x + weight * (y - x)``."""
    return pointwise.lerp(x, y, weight)


def add_n(inputs: Any, name: Name = None) -> Any:
    """Return the sum of tensors of one shape."""
    items = listed(inputs)
    return ops.add_n(items) if len(items) > 1 else ops.identity(items[0])


def increment(x: Any, value: float = 1.0, name: Name = None) -> Any:
    """Add a number to a tensor of one element, in place; in graphs the Variable means the sum from here on.

    Raises:
        DtypeError: x is not a tensor.
        ShapeError: it has not one element.
    """
    if set(needed(x).shape) - {1, -1}:
        raise ShapeError(f"increment takes a tensor of one element, got shape {list(x.shape)}")
    is_whole = x._data.dtype.kind in "iu"
    return overwrite(x, ops.add(x.detach(), int(value) if is_whole else value))


# ---- reductions ------------------------------------------------------------------------------------------------------
def sum(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the sum over axes; int64 for booleans and int32."""
    needed(x)
    return ops.reduce_sum(x, axis_of(axis), keepdim, None if dtype is None else canonical_dtype(dtype))


def mean(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the mean over axes; of integers it is an integer (Paddle 2.6)."""
    return ops.reduce_mean(needed(x), axis_of(axis), keepdim)


def max(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the largest element over axes."""
    return ops.reduce_max(needed(x), axis_of(axis), keepdim)


def min(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the smallest element over axes."""
    return ops.reduce_min(needed(x), axis_of(axis), keepdim)


def amax(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the largest element over axes; equal ones share the gradient."""
    return ops.amax(needed(x), axis_of(axis), keepdim)


def amin(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the smallest element over axes; equal ones share the gradient."""
    return ops.amin(needed(x), axis_of(axis), keepdim)


def prod(x: Any, axis: Any = None, keepdim: bool = False, dtype: Any = None, name: Name = None) -> Any:
    """Return the product over axes."""
    kind = None if dtype is None else canonical_dtype(dtype)
    return ops.reduce_prod(needed(x), axis_of(axis), keepdim, kind)


def all(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return whether all elements are true."""
    return ops.reduce_all(ops.cast(needed(x), "bool"), axis_of(axis), keepdim)


def any(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return whether some element is true."""
    return ops.reduce_any(ops.cast(needed(x), "bool"), axis_of(axis), keepdim)


def logsumexp(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the logarithm of the sum of exponentials."""
    return ops.logsumexp(needed(x), axis_of(axis), keepdim)


def var(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: Name = None) -> Any:
    """Return the variance over axes, divided by n - 1 where ``unbiased``; 0 of one element (Paddle 2.6)."""
    return arithmetic.var(needed(x), axis_of(axis), unbiased, keepdim)


def std(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: Name = None) -> Any:
    """Return the standard deviation over axes, of n - 1 where ``unbiased``; 0 of one element (Paddle 2.6)."""
    return arithmetic.std(needed(x), axis_of(axis), unbiased, keepdim)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None, name: Name = None) -> Any:
    """Return running sums along an axis; of the flattened tensor where the axis is left out."""
    value = needed(x) if dtype is None else ops.cast(x, canonical_dtype(dtype))
    return ops.cumsum(value, axis)


def cumprod(x: Any, dim: int | None = None, dtype: Any = None, name: Name = None) -> Any:
    """Return running products along an axis; of the flattened tensor where it is left out."""
    value = needed(x) if dtype is None else ops.cast(x, canonical_dtype(dtype))
    return ops.cumprod(ops.reshape(value, [-1]), 0) if dim is None else ops.cumprod(value, dim)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: Name = None) -> Any:
    """Return the sums of the diagonals of two axes."""
    if x.ndim != 2 or (axis1, axis2) != (0, 1):
        from opkit.paddle.tensor.layout import diagonal

        return ops.reduce_sum(diagonal(x, offset, axis1, axis2), -1)
    return ops.reduce_sum(ops.diag(x, offset))


def median(x: Any, axis: int | None = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the median; of an even number of elements, the mean of the middle two; of integers in float32."""
    if needed(x)._data.dtype.kind in "iu":
        x = ops.cast(x, "float32")
    value, at = (ops.reshape(x, [-1]), -1) if axis is None else (x, axis)
    result = statistics.median(value, at)
    if not keepdim:
        return result
    return ops.reshape(result, [1] * x.ndim) if axis is None else ops.expand_dims(result, at)


def numel(x: Any, name: Name = None) -> Any:
    """Return the number of elements, as a tensor."""
    needed(x)
    count = ops.count_of(x)
    return ops.constant(count, (), "int64") if isinstance(count, int) else count


def is_tensor(x: Any) -> bool:
    """Return whether this is a Tensor, or a Variable of a graph."""
    return isinstance(x, (Tensor, Variable))


__all__ += ["is_tensor"]
globals().update(UNARY)
globals().update(BINARY)

__getattr__ = _guard(globals())


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
