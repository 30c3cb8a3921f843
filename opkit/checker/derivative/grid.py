"""Grid: the values on a ladder of steps, and their difference quotients.

Picks the best rung; bends and leaps are interpreted in corners and staircases.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.model.thresholds import CENTRAL_NOISE, LEAST_RUNGS, ONE_SIDED_NOISE, RATIO

Picked: TypeAlias = tuple[ndarray, ndarray, ndarray, ndarray]


def extrapolated(slopes: ndarray, order: int) -> ndarray:
    """Return Richardson's extrapolation, a rung shorter, of slopes (..., K, J) whose error has an order."""
    finer = slopes[..., 1:, :]
    found: ndarray = finer + (finer - slopes[..., :-1, :]) / (RATIO**order - 1)
    return found


def gaps(table: ndarray) -> ndarray:
    """Return the larger distance of each rung but the outer ones to its neighbours."""
    gap = np.abs(table[..., 1:, :] - table[..., :-1, :])
    found: ndarray = np.maximum(gap[..., :-1, :], gap[..., 1:, :])
    return found


def least(score: ndarray) -> ndarray:
    """Return the rung of the least finite score, (..., 1, J)."""
    rung: ndarray = np.argmin(np.where(np.isfinite(score), score, np.inf), axis=-2)[..., None, :]
    return rung


def at(rung: ndarray, values: ndarray) -> ndarray:
    """Return values ((M,) K, J or 1) at a rung of each line, ((M,) J)."""
    column = np.arange(rung.shape[-1]) if values.shape[-1] != 1 else 0
    line = () if values.ndim == 2 else (np.arange(values.shape[0])[:, None],)
    place = (*line, rung[..., 0, :], column)
    found: ndarray = values[place]
    return found


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
        self.up, self.down, self.scale = up, down, scale
        self.step = 0.5 * (self.up + self.down)
        self.plus_change = plus - base[:, None, :]
        self.minus_change = base[:, None, :] - minus
        self.plus_slope = self.plus_change / self.up
        self.minus_slope = self.minus_change / self.down
        self.slope = (plus - minus) / (self.up + self.down)
        self.fourth = extrapolated(self.slope, 2)
        size = np.fmax(np.fmax(np.abs(plus), np.abs(minus)), np.abs(base)[:, None, :])
        self.level = np.maximum(eps * size, floor)

    def central(self) -> Picked:
        """Value, bound, noise and step from central differences."""
        return self._select(self.fourth, CENTRAL_NOISE)

    @cached_property
    def sides(self) -> list[Picked]:
        """Value, bound, noise and step from slopes on the right, and on the left (two extrapolations)."""
        slopes = self.plus_slope, self.minus_slope
        return [self._select(extrapolated(extrapolated(slope, 1), 2), ONE_SIDED_NOISE) for slope in slopes]

    def _select(self, table: ndarray, amplification: float) -> Picked:
        """Pick the rung whose distance to both neighbours plus noise is least; then measure the noise and repick."""
        lines, rungs, width = table.shape
        if rungs < LEAST_RUNGS:
            nothing = np.full((lines, width), np.nan)
            return nothing, np.full((lines, width), np.inf), np.zeros((lines, width)), nothing
        error, middle = gaps(table), table[:, 1:-1]
        fine, level = (every[:, 1 - rungs : -1] for every in (self.step, self.level))
        chosen = least(error + amplification * level / fine)
        deviation = np.abs(table - at(chosen, middle)[:, None]) * self.step[:, -rungs:] / amplification
        is_finer = np.arange(rungs)[None, :, None] > chosen + 1
        noise = np.where(is_finer & np.isfinite(deviation), deviation, 0.0).max(axis=1)
        total = error + amplification * np.maximum(level, noise[:, None]) / fine
        chosen = least(total)
        bound = at(chosen, np.where(np.isfinite(total), total, np.inf))
        return at(chosen, middle), bound, np.maximum(noise, at(chosen, level)), at(chosen, fine)

    def size(self) -> ndarray:
        """The largest magnitude on the ladder, (M, J)."""
        magnitude = np.fmax(np.abs(self.plus), np.abs(self.minus))
        found: ndarray = np.where(np.isfinite(magnitude), magnitude, 0.0).max(axis=1)
        return found

    @staticmethod
    def finest(mask: ndarray) -> ndarray:
        """Index of the finest rung in the mask, (M, 1, J); the last one where there is none."""
        index: ndarray = (mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1))[:, None, :]
        return index
