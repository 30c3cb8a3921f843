"""Elements by their places: slices added at an index, numbers summed at places, strides, windows along an axis."""

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
