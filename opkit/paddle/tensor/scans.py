"""Running extremes and sums, differences and areas along an axis."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import pointwise
from opkit.ops.core.types import Name
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value, needed

__all__ = ["cumulative_trapezoid", "diff", "logcumsumexp", "trapezoid"]


def logcumsumexp(x: Any, axis: int | None = None, dtype: Any = None, name: Name = None) -> Any:
    """Return the logarithms of the running sums of exponentials; of the flattened tensor where no axis is given."""
    value = needed(x)
    if dtype is not None:
        value = ops.cast(value, canonical_dtype(dtype))
    elif value._data.dtype.kind != "f":
        value = ops.cast(value, default_dtype())
    return ops.logcumsumexp(value, axis)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, name: Name = None) -> Any:
    """Return the n-th differences of neighbours along an axis."""
    if n < 1:
        raise UsageError(f"diff: n must be at least 1, got {n}")
    at = axis % needed(x).ndim
    parts = [item for item in (prepend, x, append) if item is not None]
    value = ops.concat(parts, at) if len(parts) > 1 else x
    return pointwise.differences(value, at, n)


def _areas(y: Any, x: Any, dx: Any, axis: int) -> Any:
    at = axis % need_value("trapezoid", "y", y).ndim
    if x is not None and dx is not None:
        raise UsageError("trapezoid: give x or dx, not both")
    return pointwise.areas(y, x, 1.0 if dx is None else dx, at)


def trapezoid(y: Any, x: Any = None, dx: Any = None, axis: int = -1, name: Name = None) -> Any:
    """Return the area under y along an axis by the trapezoidal rule, at the places x or at distances dx (1)."""
    return ops.reduce_sum(_areas(y, x, dx, axis), axis)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = None, axis: int = -1, name: Name = None) -> Any:
    """Return the running area under y along an axis by the trapezoidal rule."""
    return ops.cumsum(_areas(y, x, dx, axis), axis)
