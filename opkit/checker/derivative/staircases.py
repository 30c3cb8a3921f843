"""Staircases: lines on which small steps show another slope than large ones.

Values may look flat, or have another slope, below the resolution of a lower precision: both slopes count as possible.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.grid import Grid, at, gaps, least
from opkit.checker.model.thresholds import (
    BOUNDS,
    CENTRAL_NOISE,
    COARSE,
    GRID_ULPS,
    SLIGHT,
    SMALL,
    SMOOTH,
    TWO_SLOPE_RUNGS,
)


def mark_staircases(grid: Grid, out: Estimate) -> None:
    """Where steps of another size than the chosen ones agree on another slope, count both as possible.

    That is how a function computed in a lower precision looks, and also one that is meant to have steps.
    """
    if grid.fourth.shape[1] < TWO_SLOPE_RUNGS:
        return
    middle, step, own = grid.fourth[:, 1:-1], grid.step[:, 2:-1], out.value[:, None]
    error = gaps(grid.fourth)
    bend = np.abs(grid.plus_slope - grid.minus_slope)[:, 2:-1]
    gap, size = np.abs(middle - own), np.maximum(np.abs(middle), np.abs(own))
    reach = _reach(grid, out.value, gap)[:, None]
    scale = grid.scale[:, None]
    is_finer = (step < SMALL * out.step[:, None]) & (gap > SLIGHT * size)
    is_finer &= error + CENTRAL_NOISE * grid.level[:, 2:-1] / step < SLIGHT * size
    is_finer[:, :-1] &= is_finer[:, 1:]
    is_coarser = (reach < SMALL * step) & (reach < COARSE * scale) & (step > SMALL * COARSE * scale)
    is_coarser &= np.maximum(error, bend) < SMOOTH * np.abs(middle)
    is_other = (is_finer | is_coarser) & (gap > BOUNDS * (out.bound[:, None] + error))
    best = least(np.where(is_other, error, np.inf))
    found = at(best, is_other) & (out.kind <= Behaviour.ONE_SIDED)
    other, length = at(best, middle), at(best, step)
    deviation = np.where(step < length[:, None], np.abs(middle - other[:, None]) * step, 0.0)
    slack = np.maximum(out.bound, at(best, error) + 2.0 * np.fmax.reduce(deviation, axis=1) / length)
    is_slight = at(best, gap) < SLIGHT * at(best, size)
    out.low[found] = np.minimum(other, out.value)[found]
    out.high[found] = np.maximum(other, out.value)[found]
    out.bound[found] = np.where(is_slight, np.maximum(slack, at(best, gap)), slack)[found]
    out.kind[found & ~is_slight] = Behaviour.STAIRCASE


def _reach(grid: Grid, value: ndarray, gap: ndarray) -> ndarray:
    """The largest step up to which the central slope is the fine value, from the finest on, (M, J)."""
    tolerance = SMOOTH * np.where(np.isfinite(gap), gap, 0.0).max(axis=1)
    near = np.abs(grid.slope - value[:, None, :]) <= tolerance[:, None, :] + GRID_ULPS * grid.level / grid.step
    run = np.logical_and.accumulate(near[:, ::-1], axis=1)[:, ::-1]
    found: ndarray = np.where(run, grid.step, 0.0).max(axis=1)
    return found
