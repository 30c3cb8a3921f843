"""Statistics of order: the k-th smallest element, the most frequent one, medians and quantiles.

Means and spreads: means without NaN, covariances and correlations of the rows of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def kth_smallest(x: Value, k: int, axis: int, *, keepdims: bool) -> tuple[Value, Value]:
    """Return the k-th smallest element along an axis, counted from 1, and its position."""
    least, places = ops.selected(x, k, axis)
    last = [ops.slice(item, [axis], [k - 1], [k]) for item in (least, places)]
    return (last[0], last[1]) if keepdims else (ops.squeeze(last[0], axis), ops.squeeze(last[1], axis))


def most_frequent(x: Value, axis: int, *, keepdims: bool) -> tuple[Value, Value]:
    """Return the most frequent element along an axis, and where it stands last."""
    return _picked(x, ops.mode_places(x, axis), axis, keepdims)


def _picked(x: Value, place: Value, axis: int, keepdims: bool) -> tuple[Value, Value]:
    value = ops.take_along_axis(x, place, axis)
    return (value, place) if keepdims else (ops.squeeze(value, axis), ops.squeeze(place, axis))


def median(x: Value, axis: int) -> Value:
    """Return the median along an axis; of an even number of elements, the mean of the middle two; NaN if one is NaN."""
    size = x.shape[axis]
    ordered, _ = ops.selected(x, size // 2 + 1, axis)
    middle = [size // 2] if size % 2 else [size // 2 - 1, size // 2]
    pieces = [_take(ordered, i, axis) for i in middle]
    middle_value = pieces[0] if len(pieces) == 1 else ops.scalar_mul(ops.add(pieces[0], pieces[1]), 0.5)
    if x._data.dtype.kind != "f":
        return middle_value
    # 0, or NaN where an element is NaN, which takes a gradient like any other term.
    return ops.add(middle_value, ops.reduce_sum(ops.where(ops.isnan(x), x, 0.0), axis))


def _take(x: Value, position: int, axis: int) -> Value:
    index: list[Any] = [slice(None)] * len(x.shape)
    index[axis] = position
    return ops.getitem(x, tuple(index))


def quantiles(x: Value, shares: Sequence[float], *, ignore_nan: bool) -> list[Value]:
    """Return, along the last axis, the elements below which each share lies, between two of them by a line.

    Args:
        x: floating-point, at least one axis.
        shares: between 0 and 1.
        ignore_nan: whether NaN do not count; otherwise one of them makes a result NaN.
    """
    ordered, is_nan = ops.sort(x, -1), ops.isnan(x)
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
        found.append(item if ignore_nan else ops.where(ops.reduce_any(is_nan, -1), float("nan"), item))
    return found


def without_nan(x: Value) -> Value:
    """Return ``x`` with 0 in place of NaN."""
    return ops.where(ops.isnan(x), 0, x)


def mean_of_numbers(x: Value, axis: Any, *, keepdims: bool) -> Value:
    """Return the mean over axes of the elements that are not NaN."""
    counted = ops.cast(ops.logical_not(ops.isnan(x)), x._data.dtype)
    return ops.div(ops.reduce_sum(without_nan(x), axis, keepdims), ops.reduce_sum(counted, axis, keepdims))
