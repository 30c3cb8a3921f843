"""Resolution: whether a ladder's slopes are accidents, since the function lives on scales that its steps pass over.

A ladder chooses the rung whose neighbours agree best. A function that oscillates many times within every step, is flat
in the small and has steps in the large, or bends on one scale only, can make rungs agree on a slope that is nowhere its
derivative. Here a ladder down to the least steps is asked whether it has the claimed slope on another scale.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import Columns
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.ladder import steps_for
from opkit.checker.model.thresholds import (
    BOUNDS,
    GRID_ULPS,
    LEAST_RUNGS,
    MANY,
    OSCILLATION_ULPS,
    SLIGHT,
    SMALL,
    SMOOTH,
    STEPS,
    WHOLE_LADDER,
)


def misled(columns: Columns, rows: ndarray, estimate: Estimate, claimed: ndarray, wrong: ndarray) -> ndarray:
    """Return the entries (M, J) among the wrong ones whose numeric value is not evidence.

    Args:
        columns: evaluates the function.
        rows: (M,) elements.
        estimate: of the elements, (M, J).
        claimed: (M, J) slopes.
        wrong: (M, J) mask of the entries that would be accused.
    """
    found = np.zeros(wrong.shape, dtype=bool)
    is_smooth = estimate.kind <= Behaviour.ONE_SIDED
    is_steep = np.isfinite(claimed) & (np.abs(claimed) > BOUNDS * np.abs(estimate.value))
    open_ = wrong & (is_steep | is_smooth)
    every = np.flatnonzero(open_.any(axis=1))
    chosen = every[:MANY]
    if not chosen.size:
        return found
    scales, base, value, slope = columns.scales[rows[chosen]], columns.base, estimate.value[chosen], claimed[chosen]
    steps = steps_for(scales, WHOLE_LADDER)
    plus, minus, up, down = columns.ladder(rows[chosen], steps)
    looks = Looks(plus, minus, base, up, down, columns.evaluator.eps())
    found[chosen] = open_[chosen] & (is_smooth[chosen] & looks.oscillate(value) | looks.have(slope, value))
    if chosen.size < every.size and not (open_[chosen] & ~found[chosen]).any():
        found |= open_  # all that were looked at are accidents: so are the others
    return found


class Looks:
    """The values on a whole ladder, (M, K, J), of which it is asked what they show beside a numeric slope.

    Args:
        plus, minus: at the steps above and below.
        base: (J,) at the point.
        up, down: (M, K, 1) the steps.
        eps: (J,) resolution of each value.
    """

    def __init__(self, plus: ndarray, minus: ndarray, base: ndarray, up: ndarray, down: ndarray, eps: ndarray) -> None:
        self.right, self.left, self.up, self.down = plus - base, base - minus, up, down
        self.rounding = eps * np.abs(base)

    def oscillate(self, value: ndarray) -> ndarray:
        """Say where values change over 1e-11 of the scale by a share of what they change over much of it, (M, J).

        What is left beside the numeric slope (M, J) counts: an oscillation may lie on a slope that hides it.
        """
        sides = (self.right - self.up * value[:, None], self.left - self.down * value[:, None])
        change = np.fmax(*map(np.abs, sides))
        coarse, fine = (
            np.fmax.reduce(part, axis=1, initial=0.0)
            for part in (change[:, :LEAST_RUNGS], change[:, STEPS + LEAST_RUNGS :])
        )
        found: ndarray = (fine > SMALL * coarse) & (fine > OSCILLATION_ULPS * self.rounding)
        return found

    def have(self, claimed: ndarray, value: ndarray) -> ndarray:
        """Say where the claimed slope is there, or lies between slopes on both sides that stay for a rung, (M, J)."""
        gap = np.abs(value - claimed)
        size = np.fmax(np.abs(claimed), np.abs(value))
        gap[gap < SLIGHT * size] = 0.0  # slight: not a matter of scales
        sides = self.right / self.up, self.left / self.down
        rounding = 2 * GRID_ULPS * self.rounding / self.down
        slack = np.minimum(SMALL * np.abs(claimed), SMOOTH * gap)[:, None] + rounding
        holds = (np.minimum(*sides) - slack <= claimed[:, None]) & (claimed[:, None] <= np.maximum(*sides) + slack)
        for side in sides:
            holds[:, 1:] &= np.abs(np.diff(side, axis=1)) <= slack[:, 1:]
        central = (self.right + self.left) / (self.up + self.down)
        holds |= np.abs(central - claimed[:, None]) <= slack
        holds &= 2 * slack < gap[:, None]  # not where both are 0
        found: ndarray = holds[:, LEAST_RUNGS:].any(axis=1)
        if found.any():  # where some have another scale, slight differences are of that kind too
            found |= (gap < SMOOTH * size) & np.isfinite(claimed)
        return found
