"""Functions of matrices: systems with triangles, condition numbers, traces, powers of a vector's elements.

Diagonals and triangles of matrices: read, replaced, filled, and matrices made of them.

Products of tensors beyond the matrix product: Kronecker's, the vector product, powers, chains, distances of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ops import following as ops
from opkit.ops.core.value import Value


def triangular_solve(x: Value, y: Value, *, upper: bool, transpose: bool = False, unit: bool = False) -> Value:
    """Return z with ``x @ z = y``, of ``x`` one triangle being read.

    Args:
        x: ``(..., n, n)``.
        y: ``(..., n, k)``.
        upper: which triangle.
        transpose: solve with ``x`` transposed.
        unit: the diagonal counts as ones.
    """
    part = ops.triu if upper else ops.tril
    triangle = part(x, (1 if upper else -1) if unit else 0)
    if unit:
        triangle = ops.add(triangle, ops.eye(x.shape[-1], dtype=x._data.dtype.name))
    return ops.solve(ops.swapaxes(triangle, -1, -2) if transpose else triangle, y)


def condition_number(x: Value, p: Any = None) -> Value:
    """Return the size of matrices times the size of their inverses, in one of the norms of ``matrix_size``."""
    if p in (None, 2, -2):
        sizes = ops.svd(x)[1]
        largest, least = ops.reduce_max(sizes, -1), ops.reduce_min(sizes, -1)
        return ops.div(least, largest) if p == -2 else ops.div(largest, least)
    return ops.mul(matrix_size(x, p), matrix_size(ops.inverse(x), p))


def matrix_size(x: Value, p: Any) -> Value:
    """Return a norm of matrices: "fro", "nuc", the largest (1, inf) or least (-1, -inf) sum of a column or row."""
    if p == "fro":
        return ops.norm(x, 2.0, (-2, -1))
    if p == "nuc":
        return ops.reduce_sum(ops.svd(x)[1], -1)
    sums = ops.reduce_sum(ops.abs(x), -1 if math.isinf(p) else -2)
    return ops.reduce_max(sums, -1) if p > 0 else ops.reduce_min(sums, -1)


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


def add_product(addend: Value, x: Value, y: Value, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """Return ``beta * addend + alpha * x @ y``; the addend broadcasts."""
    product = ops.matmul(x, y)
    scaled = product if alpha == 1 else ops.mul(product, float(alpha))
    return ops.add(addend if beta == 1 else ops.mul(addend, float(beta)), scaled)


def kron(x: Value, y: Value) -> Value:
    """Return the Kronecker product: every element of ``x`` times the whole of ``y``."""
    count = max(len(x.shape), len(y.shape))
    left = [1] * (count - len(x.shape)) + list(x.shape)
    right = [1] * (count - len(y.shape)) + list(y.shape)
    wide = [size for pair in zip(left, [1] * count) for size in pair]
    fine = [size for pair in zip([1] * count, right) for size in pair]
    product = ops.mul(ops.reshape(x, wide), ops.reshape(y, fine))
    return ops.reshape(product, [a * b for a, b in zip(left, right)])


def cross(x: Value, y: Value, axis: int) -> Value:
    """Return the vector products along an axis of size 3.

    Raises:
        ShapeError: the axis has another size.
    """
    if x.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} of {list(x.shape)} does not have size 3")
    next_x, next_y = ops.roll(x, -1, axis), ops.roll(y, -1, axis)
    return ops.sub(ops.mul(next_x, ops.roll(y, 1, axis)), ops.mul(ops.roll(x, 1, axis), next_y))


def matrix_power(x: Value, n: int) -> Value:
    """Return the n-th power of square matrices; a negative one is that of the inverse."""
    shape = tuple(x.shape)
    if n == 0:
        return ops.broadcast_like(ops.eye(shape[-1], dtype=x._data.dtype.name), x, tuple(range(len(shape) - 2)))
    base, power = (ops.inverse(x), -n) if n < 0 else (x, n)
    result: Any = None
    while power:
        if power % 2:
            result = base if result is None else ops.matmul(result, base)
        power //= 2
        base = ops.matmul(base, base) if power else base
    return result


def row_distances(x: Value, y: Value, p: float) -> Value:
    """Return the p-norm of the difference of each row of ``x`` and each of ``y``; of order 0 how many differ."""
    gaps = ops.sub(ops.expand_dims(x, -2), ops.expand_dims(y, -3))
    return ops.norm(gaps, float(p), -1) if p else ops.reduce_sum(ops.sign(ops.abs(gaps)), -1)
