"""Rows reduced by number: the sum, mean, largest or smallest of all rows that have one number.

They read the numbers, so they need data: there are none in a graph until it runs.
"""

from __future__ import annotations

import numpy as np

from opkit.ops import following as ops
from opkit.ops.core.value import Value

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
