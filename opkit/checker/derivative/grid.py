"""Grid: the values on a ladder of steps, and their difference quotients.

Picks the best rung; bends and leaps are interpreted in corners and staircases.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.model.thresholds import CENTRAL_NOISE, FIRST_ORDER, LEAST_RUNGS, ONE_SIDED_NOISE, SECOND_ORDER

Picked: TypeAlias = tuple[ndarray, ndarray, ndarray, ndarray]


class Grid:
    """The values of one ladder, and their difference quotients."""

    def __init__(
        self,
        plus: ndarray,
        minus: ndarray,
        base: ndarray,
        up: ndarray,
        down: ndarray,
        eps: ndarray,
        scale: ndarray,
        floor: ndarray | float,
    ) -> None:
        self.plus, self.minus, self.base = plus, minus, base
        self.up, self.down = up[:, :, None], down[:, :, None]
        self.step = 0.5 * (self.up + self.down)
        self.scale = scale[:, None]
        self.plus_change = plus - base[:, None, :]
        self.minus_change = base[:, None, :] - minus
        self.plus_slope = self.plus_change / self.up
        self.minus_slope = self.minus_change / self.down
        self.slope = (plus - minus) / (self.up + self.down)
        size = np.fmax(np.fmax(np.abs(plus), np.abs(minus)), np.abs(base)[:, None, :])
        self.level = np.maximum(eps * size, floor)

    def central(self) -> Picked:
        """Value, bound, noise and step from central differences."""
        second = self.slope
        fourth = second[:, 1:] + (second[:, 1:] - second[:, :-1]) / SECOND_ORDER
        return self._select(fourth, self.slope, self.step, CENTRAL_NOISE)

    def one_sided(self, slope: ndarray) -> Picked:
        """Value, bound, noise and step from slopes on one side (two extrapolations)."""
        first = slope[:, 1:] + (slope[:, 1:] - slope[:, :-1]) / FIRST_ORDER
        second = first[:, 1:] + (first[:, 1:] - first[:, :-1]) / SECOND_ORDER
        return self._select(second, slope, self.step, ONE_SIDED_NOISE)

    def _select(self, table: ndarray, slope: ndarray, step: ndarray, amplification: float) -> Picked:
        """Pick the rung whose distance to both neighbours plus noise is least; then measure the noise and repick."""
        lines, rungs, width = table.shape
        if rungs < LEAST_RUNGS:
            nothing = np.full((lines, width), np.nan)
            return nothing, np.full((lines, width), np.inf), np.zeros((lines, width)), nothing
        offset = slope.shape[1] - rungs
        gap = np.abs(np.diff(table, axis=1))
        error = np.maximum(gap[:, :-1], gap[:, 1:])
        middle = table[:, 1:-1]
        fine = step[:, offset + 1 : offset + rungs - 1]
        level = self.level[:, offset + 1 : offset + rungs - 1]
        total = error + amplification * level / fine
        total[~np.isfinite(total)] = np.inf
        chosen = np.argmin(total, axis=1)[:, None, :]
        value = np.take_along_axis(middle, chosen, axis=1)
        finer = np.arange(rungs)[None, :, None] > chosen + 1
        deviation = np.abs(table - value) * step[:, offset:] / amplification
        deviation[~(finer & np.isfinite(deviation))] = 0.0
        noise = deviation.max(axis=1, keepdims=True)
        total = error + amplification * np.maximum(level, noise) / fine
        total[~np.isfinite(total)] = np.inf
        chosen = np.argmin(total, axis=1)[:, None, :]
        value = np.take_along_axis(middle, chosen, axis=1)[:, 0]
        bound = np.take_along_axis(total, chosen, axis=1)[:, 0]
        level_there = np.take_along_axis(level, chosen, axis=1)
        step_there = np.take_along_axis(np.broadcast_to(fine, total.shape), chosen, axis=1)[:, 0]
        return value, bound, np.maximum(noise, level_there)[:, 0], step_there

    def size(self) -> ndarray:
        """The largest magnitude on the ladder, (M, J)."""
        magnitude = np.fmax(np.abs(self.plus), np.abs(self.minus))
        found: ndarray = np.where(np.isfinite(magnitude), magnitude, 0.0).max(axis=1)
        return found

    @staticmethod
    def finest(mask: ndarray) -> ndarray:
        """Index of the finest rung in the mask, (M, 1, J); the last one where there is none."""
        flipped = mask[:, ::-1]
        index: ndarray = (mask.shape[1] - 1 - np.argmax(flipped, axis=1))[:, None, :]
        return index
