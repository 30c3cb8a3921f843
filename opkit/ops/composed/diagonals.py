"""Diagonals and triangles of matrices: read, replaced, filled, and matrices made of them."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def _places(rows: int, columns: int, offset: int) -> tuple[ndarray, ndarray]:
    """Return the rows and the columns of a diagonal's elements."""
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    along = np.arange(count)
    return along + max(-offset, 0), along + max(offset, 0)


def _last(dims: int, first: int, second: int) -> list[int]:
    """Return the order of axes in which two of them are the last."""
    return [*(axis for axis in range(dims) if axis not in (first, second)), first, second]


def diagonal(x: Value, offset: int, first: int, second: int) -> Value:
    """Return the diagonals of two axes, both counted from the front, along a new last axis."""
    matrices = ops.transpose(x, _last(len(x.shape), first, second))
    *rest, rows, columns = matrices.shape
    row, column = _places(rows, columns, offset)
    return ops.gather(ops.reshape(matrices, [*rest, rows * columns]), ops.literal(row * columns + column), len(rest))


def diagonal_filled(x: Value, number: float, offset: int, *, wraps: bool) -> Value:
    """Return ``x`` with a number on its diagonal; of more than two axes, where all indices are equal.

    Args:
        x: two axes, or more of one size.
        number: what is written.
        offset: of the diagonal of a matrix.
        wraps: whether the diagonal of a high matrix starts again below its square part.
    """
    shape = tuple(x.shape)
    mask = np.zeros(shape, bool)
    if len(shape) == 2:
        flat, columns = mask.reshape(-1), shape[1]
        end = len(flat) if wraps or shape[0] <= columns else columns * columns
        places = np.arange(0, end, columns + 1)
        beside = places % columns + offset
        flat[(places + offset)[(beside >= 0) & (beside < columns)]] = True
    else:
        mask[(np.arange(shape[0]),) * len(shape)] = True
    return ops.where(ops.literal(mask), number, x)


def diagonal_matrices(x: Value, offset: int, first: int, second: int) -> Value:
    """Return matrices along two new axes, counted from the front, whose diagonals are the last axis of ``x``."""
    dims, count = len(x.shape) + 1, x.shape[-1]
    size, before = count + abs(offset), max(-offset, 0)
    mask = np.zeros((size, size), bool)
    mask[_places(size, size, offset)] = True
    wide = ops.pad(x, [0] * (dims - 2) + [before], [0] * (dims - 2) + [size - count - before])
    zero = 0.0 if x._data.dtype.kind == "f" else 0
    matrices = ops.where(ops.literal(mask), ops.expand_dims(wide, -1), zero)
    order = _last(dims, first, second)
    return ops.transpose(matrices, [order.index(axis) for axis in range(dims)])
