"""Elements by their places: slices added at an index, numbers summed at places, strides, windows along an axis.

Rows reduced by number: the sum, mean, largest or smallest of all rows that have one number.

They read the numbers, so they need data: there are none in a graph until it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value


def slices_added(x: Value, index: Value, axis: int, value: Value) -> Value:
    """Return ``x`` with the slices of ``value`` added where a vector of indices names them along an axis."""
    column = ops.reshape(index, [-1, 1])
    return ops.swapaxes(ops.scatter_nd_add(ops.swapaxes(x, 0, axis), column, ops.swapaxes(value, 0, axis)), 0, axis)


def summed_at(x: Value, indices: tuple[Any, ...], value: Value) -> Value:
    """Return ``x`` with ``value`` added at the places that numpy's indexing names; what meets at a place is summed."""
    shape = list(x.shape)
    size = int(np.prod(shape))
    places = ops.getitem(ops.literal(np.arange(size).reshape(shape)), indices)
    spread = ops.broadcast_to(ops.cast(value, x._data.dtype), list(places.shape))
    total = ops.unsorted_segment_sum(ops.reshape(spread, [-1]), ops.reshape(places, [-1]), size)
    return ops.add(x, ops.reshape(total, shape))


def strided(x: Value, shape: Ints, steps: Ints, offset: int) -> Value:
    """Return elements at regular distances in the flattened ``x``."""
    places = np.array(offset)
    for size, step in zip(shape, steps):
        places = places[..., None] + np.arange(size) * step
    return ops.gather(ops.reshape(x, [-1]), ops.literal(places), 0)


def windows_along(x: Value, axis: int, size: int, step: int) -> Value:
    """Return the windows of one size along an axis (counted from the front), their elements along a new last axis."""
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = ops.gather(x, ops.literal(starts[:, None] + np.arange(size)), axis)
    order = [k for k in range(len(windows.shape)) if k != axis + 1] + [axis + 1]
    return ops.transpose(windows, order)


#: How rows can be reduced.
REDUCTIONS = ("sum", "mean", "max", "min")


def reduced_rows(rows: Value, numbers: Value, count: int, how: str) -> Value:
    """Return ``count`` rows, each reduced from all rows that have its number; zeros where there are none.

    Args:
        rows: (n, ...).
        numbers: (n,), integers from 0 up to ``count``.
        count: how many rows to return.
        how: one of ``REDUCTIONS``. Of equal largest or smallest elements each takes the whole gradient.
    """
    if how == "sum":
        return ops.unsorted_segment_sum(rows, numbers, count)
    if how == "mean":
        return _mean(rows, numbers, count)
    return _extreme(rows, numbers, count, is_largest=how == "max")


def _mean(rows: Value, numbers: Value, count: int) -> Value:
    kind = rows._data.dtype
    sizes = np.maximum(np.bincount(np.asarray(numbers._data), minlength=count), 1)
    divisors = sizes.reshape([count] + [1] * (len(rows.shape) - 1))
    total = ops.unsorted_segment_sum(rows, numbers, count)
    if kind.kind == "f":
        return ops.div(total, ops.literal(divisors.astype(kind)))
    return ops.literal((np.asarray(total._data) / divisors).astype(kind))  # toward zero


def _extreme(rows: Value, numbers: Value, count: int, *, is_largest: bool) -> Value:
    data, places = np.asarray(rows._data), np.asarray(numbers._data)
    choose = np.maximum if is_largest else np.minimum
    order = np.argsort(places, kind="stable")
    seen, starts = np.unique(places[order], return_index=True)
    best = np.zeros((count, *data.shape[1:]), data.dtype)
    if len(seen):
        best[seen] = choose.reduceat(data[order], starts, axis=0)
    if data.dtype.kind != "f":
        return ops.literal(best)
    # The difference is 0; it carries the gradient to every row that has the best value.
    is_best = (data == best[places]) & np.isfinite(data)
    slack = ops.where(ops.literal(is_best), ops.sub(rows, ops.literal(data.copy())), 0.0)
    return ops.add(ops.literal(best), ops.unsorted_segment_sum(slack, numbers, count))
