"""Functions of matrices: systems with triangles, condition numbers, traces, powers of a vector's elements."""

from __future__ import annotations

import math
from typing import Any

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
