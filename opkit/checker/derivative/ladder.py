"""Numeric derivatives along lines, each with a bound on its own error.

Knows values at steps only: which function, input or output they belong to is the caller's business.

A ladder of central differences c(h), ratio 4 between steps, is extrapolated once (Richardson):
d4 = c(h) + (c(h) - c(4h)) / 15. The error of d4 is bounded by its distance to both neighbours on the ladder plus the
noise of the values over h. The noise is the larger of the value's own rounding and of what the finest steps show.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.corners import mark_jumps, mark_kinks
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.grid import Grid
from opkit.checker.derivative.staircases import mark_staircases
from opkit.checker.model.numbers import widened
from opkit.checker.model.thresholds import FIRST_STEP, LEAST_STEP, NONZERO, RATIO, RESOLUTION, SMALL, STEPS


def steps_for(scale: ndarray | float, count: int = STEPS, eps: float = RESOLUTION) -> ndarray:
    """Return (M, K) steps, largest first, for lines whose points have these magnitudes.

    Args:
        scale: (M,) magnitudes.
        count: rungs.
        eps: the input dtype's resolution; steps below 16 eps are left out.
    """
    base = 2.0 ** np.floor(np.log2(np.maximum(widened(scale), NONZERO))) * FIRST_STEP
    powers = RATIO ** -np.arange(count, dtype=np.float64)
    powers = powers[powers >= LEAST_STEP * eps]
    steps: ndarray = np.multiply.outer(base, powers)
    return steps


@np.errstate(all="ignore")
def settle(
    plus: ndarray,
    minus: ndarray,
    base: ndarray,
    up: ndarray,
    down: ndarray,
    eps: ndarray,
    scale: ndarray,
    floor: ndarray | float = 0.0,
) -> Estimate:
    """Estimate derivatives from the values on a ladder.

    Args:
        plus: (M, K, J) values at x + up, NaN where there are none.
        minus: (M, K, J) values at x - down.
        base: (J,) or (M, J) values at x.
        up: (M, K, 1 or J) the steps above as they really were, largest first.
        down: (M, K, 1 or J) the steps below.
        eps: (J,) resolution of each value's dtype.
        scale: (M, 1 or J) magnitude of the points.
        floor: (J,) absolute noise that each value has at least.
    """
    base = np.broadcast_to(base, (plus.shape[0], plus.shape[2]))
    grid = Grid(plus, minus, base, up, down, eps, scale, floor)
    value, bound, noise, step = grid.central()
    kind = np.full(value.shape, Behaviour.REGULAR, dtype=np.int8)
    both = np.isfinite(plus).any(axis=1) & np.isfinite(minus).any(axis=1)
    for side in () if (both & np.isfinite(bound)).all() else grid.sides:
        better = ~np.isfinite(bound) & np.isfinite(side[1]) | (side[1] < SMALL * bound) & ~both
        value, bound = np.where(better, side[0], value), np.where(better, side[1], bound)
        step = np.where(better, side[3], step)
        kind[better] = Behaviour.ONE_SIDED
    kind[~np.isfinite(bound)] = Behaviour.UNKNOWN
    low, high = value.copy(), value.copy()
    estimate = Estimate(value, bound, kind, low, high, noise, step)
    mark_staircases(grid, estimate)
    mark_kinks(grid, estimate)
    mark_jumps(grid, estimate)
    return estimate
