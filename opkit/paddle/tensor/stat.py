"""Statistics: sums and means without NaN, quantiles, the most frequent, counts, covariance.

Running extremes and sums, differences and areas along an axis.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import pointwise, statistics
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import arithmetic
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import axis_of, ints, need_value, needed
from opkit.shim.missing import guard as _guard

__all__ = [
    "bincount",
    "count_nonzero",
    "cumulative_trapezoid",
    "diff",
    "histogram",
    "kthvalue",
    "logcumsumexp",
    "mode",
    "nanmean",
    "quantile",
    "trapezoid",
]


def nanmean(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the mean of the elements that are not NaN; of integers an integer, cut off towards 0."""
    return arithmetic.whole(needed(x), lambda x: _nanmean(x, axis_of(axis), keepdim))


def _nanmean(x: Any, axis: Any, keepdim: bool) -> Any:
    return statistics.mean_of_numbers(x, axis, keepdims=keepdim)


def count_nonzero(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return how many elements are not 0, as int64."""
    is_counted = ops.not_equal(needed(x), 0)
    return ops.reduce_sum(ops.cast(is_counted, "int64"), axis_of(axis), keepdim)


# ---- order -----------------------------------------------------------------------------------------------------------
def kthvalue(x: Any, k: int, axis: int | None = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the k-th smallest element along an axis, and its position."""
    if needed(x).ndim == 0:
        return ops.identity(x), ops.constant(0, (), "int64")
    at = (-1 if axis is None else axis) % x.ndim
    if not 1 <= k <= x.shape[at]:
        raise UsageError(f"kthvalue: k must be between 1 and {x.shape[at]}, got {k}")
    return statistics.kth_smallest(x, k, at, keepdims=keepdim)


def mode(x: Any, axis: int = -1, keepdim: bool = False, name: Name = None) -> Any:
    """Return the most frequent element along an axis, and where it stands last."""
    if needed(x).ndim == 0:
        return ops.identity(x), ops.constant(0, (), "int64")
    return statistics.most_frequent(x, axis % x.ndim, keepdims=keepdim)


def _flat(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return x with the axes of a reduction joined into the last one, and those axes."""
    dims = x.ndim
    axes = tuple(range(dims)) if axis is None else tuple(item % dims for item in ints(axis))
    kept = [k for k in range(dims) if k not in axes]
    turned = ops.transpose(x, [*kept, *axes]) if dims else x
    return ops.reshape(turned, [*(x.shape[k] for k in kept), -1]), axes


def _shares(q: Any) -> tuple[list[float], bool]:
    given = q.numpy().tolist() if hasattr(q, "numpy") else q
    is_list = isinstance(given, (list, tuple))
    shares = [float(item) for item in (given if is_list else [given])]
    if not shares or not all(0 <= share <= 1 for share in shares):
        raise UsageError(f"quantile: q is a number between 0 and 1, or a list of such numbers, got {q!r}")
    return shares, is_list


def _quantile(x: Any, q: Any, axis: Any, keepdim: bool, *, ignore_nan: bool) -> Any:
    if need_value("quantile", "x", x)._data.dtype.kind not in "fiu":
        raise TypeError(f"quantile takes numbers, got {x._data.dtype}")
    shares, is_list = _shares(q)
    flat, axes = _flat(x if x._data.dtype.kind == "f" else ops.cast(x, "float32"), axis)
    found = statistics.quantiles(flat, shares, ignore_nan=ignore_nan)
    if keepdim and axes:
        found = [ops.expand_dims(item, sorted(axes)) for item in found]
    return ops.stack(found, 0) if is_list else found[0]


def _double(x: Any) -> Any:
    return x if x._data.dtype.name == "float64" else ops.cast(x, "float64")


def quantile(x: Any, q: Any, axis: Any = None, keepdim: bool = False) -> Any:
    """Return, in float64, the q-quantiles, interpolated between two elements by a line; NaN if an element is NaN."""
    return _double(_quantile(x, q, axis, keepdim, ignore_nan=False))


# ---- counts ----------------------------------------------------------------------------------------------------------
def bincount(x: Any, weights: Any = None, minlength: int = 0, name: Name = None) -> Any:
    """Return how often each integer from 0 up occurs, or the sum of its weights."""
    if needed(x)._data.dtype.kind not in "iu":
        raise TypeError(f"bincount takes integers, got {x._data.dtype}")
    return ops.bincount(x, weights, ints(minlength)[0])


def histogram(input: Any, bins: int = 100, min: float = 0, max: float = 0, name: Name = None) -> Any:
    """Return how many elements fall into each of equal bins; min and max both 0: between the least and the largest."""
    return ops.histogram(needed(input), bins, min, max)


# ---- covariance ------------------------------------------------------------------------------------------------------


__getattr__ = _guard(globals())


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
