"""Means and spreads: means without NaN, covariances and correlations of the rows of a matrix."""

from __future__ import annotations

from typing import Any

from opkit.ops import following as ops
from opkit.ops.core.value import Value, known_size


def without_nan(x: Value) -> Value:
    """Return ``x`` with 0 in place of NaN."""
    return ops.where(ops.isnan(x), 0, x)


def mean_of_numbers(x: Value, axis: Any, *, keepdims: bool) -> Value:
    """Return the mean over axes of the elements that are not NaN."""
    counted = ops.cast(ops.logical_not(ops.isnan(x)), x._data.dtype)
    return ops.div(ops.reduce_sum(without_nan(x), axis, keepdims), ops.reduce_sum(counted, axis, keepdims))


def covariance(rows: Value, ddof: int, frequencies: Value | None = None, weights: Value | None = None) -> Value:
    """Return the covariances of the rows of a matrix.

    Args:
        rows: ``(variables, observations)``.
        ddof: 1 to divide by the number of observations less one, else 0.
        frequencies: how often each observation counts.
        weights: the weight of each observation.
    """
    kind = rows._data.dtype
    factors = [ops.cast(item, kind) for item in (frequencies, weights) if item is not None]
    if not factors:
        centred = ops.sub(rows, ops.reduce_mean(rows, 1, True))
        count = known_size(rows, 1, "cov")
        return ops.div(ops.matmul(centred, centred, False, True), float(max(count - ddof, 0)))
    joint = factors[0] if len(factors) == 1 else ops.mul(*factors)
    total = ops.reduce_sum(joint)
    centred = ops.sub(rows, ops.div(ops.reduce_sum(ops.mul(rows, joint), 1, True), total))
    divisor = total
    if ddof and weights is not None:
        divisor = ops.sub(total, ops.div(ops.reduce_sum(ops.mul(joint, weights)), total))
    elif ddof:
        divisor = ops.sub(total, 1.0)
    return ops.div(ops.matmul(ops.mul(centred, joint), centred, False, True), divisor)


def correlation(joint: Value) -> Value:
    """Return the correlation coefficients of a matrix of covariances."""
    spread = ops.sqrt(ops.diag(joint))
    return ops.div(ops.div(joint, ops.expand_dims(spread, 1)), ops.expand_dims(spread, 0))
