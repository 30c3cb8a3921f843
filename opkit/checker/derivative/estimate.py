"""Estimate: derivatives along lines as numbers, with bounds and what the values look like around each point.

Data only; the ladder makes it.
"""

from __future__ import annotations

from enum import IntEnum

from numpy import ndarray

from opkit.record import record


class Behaviour(IntEnum):
    """What the values look like around the point."""

    REGULAR = 0
    ONE_SIDED = 1
    KINK = 2
    JUMP = 3
    STAIRCASE = 4
    SINGULAR = 5
    UNKNOWN = 6


@record
class Estimate:
    """Derivatives of J values along M lines.

    Args:
        value: (M, J) derivative; at a kink the middle of the slopes.
        bound: (M, J) how far it may be off; infinite where nothing can be said.
        kind: (M, J) of Behaviour.
        low, high: (M, J) the interval of valid derivatives at kinks, jumps and staircases.
        noise: (M, J) measured noise of the values.
        step: (M, J) the step that the value is based on.
    """

    value: ndarray
    bound: ndarray
    kind: ndarray
    low: ndarray
    high: ndarray
    noise: ndarray
    step: ndarray
