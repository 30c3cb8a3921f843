"""Neighbours along an axis: their differences, and the areas between them by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Callable

from opkit.ops import following as ops
from opkit.ops.core.value import Value


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
