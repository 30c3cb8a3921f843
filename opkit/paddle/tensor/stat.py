"""Statistics: sums and means without NaN, quantiles, the most frequent, counts, covariance."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ops.composed import statistics
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics import integers
from opkit.paddle.tensor.checks import axis_of, ints, need_value, needed
from opkit.shim.missing import guard as _guard

__all__ = ["bincount", "count_nonzero", "histogram", "kthvalue", "mode", "nanmean", "quantile"]


def nanmean(x: Any, axis: Any = None, keepdim: bool = False, name: Name = None) -> Any:
    """Return the mean of the elements that are not NaN; of integers an integer, cut off towards 0."""
    return integers.whole(needed(x), lambda x: _nanmean(x, axis_of(axis), keepdim))


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
