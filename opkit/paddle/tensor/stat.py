"""Statistics: sums and means without NaN, quantiles, the most frequent, counts, covariance."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import axis_of, ints, need_value

__all__ = [
    "bincount",
    "corrcoef",
    "count_nonzero",
    "cov",
    "histogram",
    "kthvalue",
    "mode",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "quantile",
]


def nansum(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Any:
    """Return the sum of the elements that are not NaN."""
    from opkit.paddle.tensor.math import sum

    return sum(ops.where(ops.isnan(need_value("nansum", "x", x)), 0, x), axis, dtype, keepdim)


def nanmean(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Any:
    """Return the mean of the elements that are not NaN; of integers an integer, cut off towards 0."""
    if need_value("nanmean", "x", x)._data.dtype.kind in "iu":
        return ops.cast(ops.reduce_mean(ops.cast(x, "float64"), axis_of(axis), keepdim), x._data.dtype)
    counted = ops.cast(ops.logical_not(ops.isnan(need_value("nanmean", "x", x))), x._data.dtype)
    total = ops.reduce_sum(ops.where(ops.isnan(x), 0, x), axis_of(axis), keepdim)
    return ops.div(total, ops.reduce_sum(counted, axis_of(axis), keepdim))


def count_nonzero(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Any:
    """Return how many elements are not 0, as int64."""
    is_counted = ops.not_equal(need_value("count_nonzero", "x", x), 0)
    return ops.reduce_sum(ops.cast(is_counted, "int64"), axis_of(axis), keepdim)


# ---- order -----------------------------------------------------------------------------------------------------------
def kthvalue(x: Any, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None) -> Any:
    """Return the k-th smallest element along an axis, and its position."""
    if need_value("kthvalue", "x", x).ndim == 0:
        return ops.identity(x), ops.constant(0, (), "int64")
    at = (-1 if axis is None else axis) % x.ndim
    if not 1 <= k <= x.shape[at]:
        raise UsageError(f"kthvalue: k must be between 1 and {x.shape[at]}, got {k}")
    place = ops.slice(ops.argsort(x, at), [at], [k - 1], [k])
    value = ops.take_along_axis(x, place, at)
    return (value, place) if keepdim else (ops.squeeze(value, at), ops.squeeze(place, at))


def mode(x: Any, axis: int = -1, keepdim: bool = False, name: str | None = None) -> Any:
    """Return the most frequent element along an axis, and where it stands last."""
    if need_value("mode", "x", x).ndim == 0:
        return ops.identity(x), ops.constant(0, (), "int64")
    at = axis % x.ndim
    place = ops.mode_places(x, at)
    value = ops.take_along_axis(x, place, at)
    return (value, place) if keepdim else (ops.squeeze(value, at), ops.squeeze(place, at))


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
    wide = x if x._data.dtype.kind == "f" else ops.cast(x, "float32")
    flat, axes = _flat(wide, axis)
    ordered = ops.sort(flat, -1)
    is_nan = ops.isnan(flat)
    count = ops.reduce_sum(ops.cast(ops.logical_not(is_nan), "float64"), -1, True)
    found = []
    for share in shares:
        at = ops.mul(ops.sub(count, 1.0), share)
        low = ops.maximum(ops.floor(at), ops.full_like(at, 0))
        values = [
            ops.squeeze(ops.take_along_axis(ordered, ops.cast(place, "int64"), -1), -1)
            for place in (low, ops.maximum(ops.ceil(at), ops.full_like(at, 0)))
        ]
        weight = ops.cast(ops.squeeze(ops.sub(at, low), -1), values[0]._data.dtype)
        item = ops.add(values[0], ops.mul(ops.sub(values[1], values[0]), weight))
        if not ignore_nan:
            item = ops.where(ops.reduce_any(is_nan, -1), float("nan"), item)
        found.append(ops.expand_dims(item, sorted(axes)) if keepdim and axes else item)
    return ops.stack(found, 0) if is_list else found[0]


def _double(x: Any) -> Any:
    return x if x._data.dtype.name == "float64" else ops.cast(x, "float64")


def quantile(x: Any, q: Any, axis: Any = None, keepdim: bool = False) -> Any:
    """Return, in float64, the elements below which the share q lies, between two of them by a line; NaN if one is."""
    return _double(_quantile(x, q, axis, keepdim, ignore_nan=False))


def nanquantile(x: Any, q: Any, axis: Any = None, keepdim: bool = False) -> Any:
    """Return, in float64, the elements below which the share q of those that are not NaN lies."""
    return _double(_quantile(x, q, axis, keepdim, ignore_nan=True))


def nanmedian(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Any:
    """Return the median of the elements that are not NaN; of integers an integer, cut off towards 0."""
    kind = need_value("nanmedian", "x", x)._data.dtype
    if kind.kind in "iu":
        return ops.cast(_quantile(ops.cast(x, "float64"), 0.5, axis, keepdim, ignore_nan=True), kind)
    return _quantile(x, 0.5, axis, keepdim, ignore_nan=True)


# ---- counts ----------------------------------------------------------------------------------------------------------
def bincount(x: Any, weights: Any = None, minlength: int = 0, name: str | None = None) -> Any:
    """Return how often each integer from 0 up occurs, or the sum of its weights."""
    if need_value("bincount", "x", x)._data.dtype.kind not in "iu":
        raise TypeError(f"bincount takes integers, got {x._data.dtype}")
    return ops.bincount(x, weights, ints(minlength)[0])


def histogram(input: Any, bins: int = 100, min: float = 0, max: float = 0, name: str | None = None) -> Any:
    """Return how many elements fall into each of equal bins; min and max both 0: between the least and the largest."""
    return ops.histogram(need_value("histogram", "input", input), bins, min, max)


# ---- covariance ------------------------------------------------------------------------------------------------------
def cov(
    x: Any,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Any = None,
    aweights: Any = None,
    name: str | None = None,
) -> Any:
    """Return the covariances of the rows (or columns) of a matrix.

    Args:
        x: a matrix or vector of observations.
        rowvar: each row is a variable.
        ddof: divide by the number of observations less one.
        fweights: how often each observation counts, integers.
        aweights: its weight.
        name: ignored.
    """
    if need_value("cov", "x", x).ndim > 2 or not x.ndim:
        raise ShapeError(f"cov takes a vector or a matrix, got {list(x.shape)}")
    rows = ops.reshape(x, [1, -1]) if x.ndim == 1 else x if rowvar or x.shape[0] == 1 else ops.transpose(x)
    count = rows.shape[1]
    weights = None
    if fweights is not None:
        weights = ops.cast(fweights, rows._data.dtype)
    if aweights is not None:
        weighed = ops.cast(aweights, rows._data.dtype)
        weights = weighed if weights is None else ops.mul(weights, weighed)
    if weights is None:
        centred = ops.sub(rows, ops.reduce_mean(rows, 1, True))
        return _scalar(ops.div(ops.matmul(centred, centred, False, True), float(max(count - int(ddof), 0))), x)
    total = ops.reduce_sum(weights)
    mean = ops.div(ops.reduce_sum(ops.mul(rows, weights), 1, True), total)
    centred = ops.sub(rows, mean)
    factor = total
    if ddof and aweights is not None:
        factor = ops.sub(total, ops.div(ops.reduce_sum(ops.mul(weights, aweights)), total))
    elif ddof:
        factor = ops.sub(total, 1.0)
    return _scalar(ops.div(ops.matmul(ops.mul(centred, weights), centred, False, True), factor), x)


def _scalar(matrix: Any, x: Any) -> Any:
    return ops.reshape(matrix, []) if x.ndim == 1 else matrix


def corrcoef(x: Any, rowvar: bool = True, name: str | None = None) -> Any:
    """Return the correlation coefficients of the rows (or columns) of a matrix."""
    if x.ndim > 2 or x.ndim < 1:
        raise ShapeError(f"corrcoef takes a vector or a matrix, got {list(x.shape)}")
    joint = cov(x, rowvar)
    if joint.ndim == 0:
        return ops.div(joint, joint)
    spread = ops.sqrt(ops.diag(joint))
    scaled = ops.div(ops.div(joint, ops.expand_dims(spread, 1)), ops.expand_dims(spread, 0))
    return ops.clip(scaled, -1.0, 1.0)
