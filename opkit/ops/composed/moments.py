"""Means and spreads: means without NaN, covariances and correlations of the rows of a matrix."""

from __future__ import annotations

from typing import Any

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def without_nan(x: Value) -> Value:
    """Return ``x`` with 0 in place of NaN."""
    return ops.where(ops.isnan(x), 0, x)


def mean_of_numbers(x: Value, axis: Any, *, keepdims: bool) -> Value:
    """Return the mean over axes of the elements that are not NaN."""
    counted = ops.cast(ops.logical_not(ops.isnan(x)), x._data.dtype)
    return ops.div(ops.reduce_sum(without_nan(x), axis, keepdims), ops.reduce_sum(counted, axis, keepdims))
