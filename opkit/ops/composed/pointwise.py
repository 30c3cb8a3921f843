"""Functions of one or two operands, element by element, that are composed of ops.

Neighbours along an axis: their differences, and the areas between them by the trapezoidal rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from opkit.ops import following as ops
from opkit.ops.core.value import Value

# ---- one operand -----------------------------------------------------------------------------------------------------


def finite_numbers(x: Value, nan: float, largest: float | None, least: float | None) -> Value:
    """Return ``x`` with numbers in place of NaN and both infinities; left out: the dtype's largest and least."""
    info = np.finfo(x._data.dtype)
    kept = ops.where(ops.isnan(x), nan, x)
    kept = ops.where(ops.equal(x, math.inf), float(info.max) if largest is None else largest, kept)
    return ops.where(ops.equal(x, -math.inf), float(info.min) if least is None else least, kept)


# ---- two operands ----------------------------------------------------------------------------------------------------
def lerp(x: Value, y: Value, weight: Value | float) -> Value:
    """Return ``x + weight * (y - x)``."""
    return ops.add(x, ops.mul(ops.sub(y, x), weight))


def fmax(x: Value, y: Value) -> Value:
    """Return the larger of two elements, the number where one is NaN; of equal ones ``x`` gets the gradient."""
    return ops.where(ops.logical_or(ops.greater_equal(x, y), ops.isnan(y)), x, y)


def fmin(x: Value, y: Value) -> Value:
    """Return the smaller of two elements, the number where one is NaN; of equal ones ``x`` gets the gradient."""
    return ops.where(ops.logical_or(ops.less_equal(x, y), ops.isnan(y)), x, y)


def heaviside(x: Value, y: Value) -> Value:
    """Return 0 where ``x`` is negative, 1 where it is positive, ``y`` where it is 0, and NaN where it is NaN."""
    step = ops.cast(ops.greater(x, 0), y._data.dtype)
    return ops.where(ops.equal(x, 0), y, ops.where(ops.isnan(x), x, step))


def is_close(x: Value, y: Value, rtol: float, atol: float, *, equal_nan: bool) -> Value:
    """Return whether ``abs(x - y) <= atol + rtol * abs(y)``; equal infinities are close."""
    near = ops.less_equal(ops.abs(ops.sub(x, y)), ops.add(ops.mul(ops.abs(y), rtol), atol))
    near = ops.logical_or(near, ops.equal(x, y))
    return ops.logical_or(near, ops.logical_and(ops.isnan(x), ops.isnan(y))) if equal_nan else near


def _joined(x: Value, axis: int, join: Callable[[Value, Value], Value]) -> Value:
    """Return ``join(next, this)`` of all neighbours."""
    return join(ops.slice(x, [axis], [1], [2**63 - 1]), ops.slice(x, [axis], [0], [-1]))


def differences(x: Value, axis: int, times: int) -> Value:
    """Return each element less the one before, ``times`` times over; of booleans, whether the two differ."""
    for _ in range(times):
        x = _joined(x, axis, ops.not_equal if x._data.dtype.kind == "b" else ops.sub)
    return x


def areas(y: Value, x: Value | None, distance: Value | float, axis: int) -> Value:
    """Return the areas under the lines between neighbours.

    Args:
        y: the heights.
        x: their places, a vector or of the shape of ``y``; None where they are at equal distances.
        distance: between two places, where ``x`` is None.
        axis: along which they are neighbours, counted from the front.
    """
    heights = _joined(y, axis, ops.add)
    if x is None:
        return ops.mul(heights, distance * 0.5 if isinstance(distance, (int, float)) else ops.mul(distance, 0.5))
    if len(x.shape) == 1:
        widths = ops.reshape(_joined(x, 0, ops.sub), [-1 if k == axis else 1 for k in range(len(y.shape))])
    else:
        widths = _joined(x, axis - len(y.shape) + len(x.shape), ops.sub)
    return ops.mul(ops.mul(widths, heights), 0.5)
