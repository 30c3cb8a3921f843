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
    COARSE_STEP,
    FINE,
    FINER_ERROR,
    FINER_GAP,
    FINER_STEP,
    GRID_ULPS,
    REACH,
    REACH_GAP,
    SLIGHT,
    SMOOTH,
    TWO_SLOPE_RUNGS,
)


def mark_staircases(grid: Grid, out: Estimate) -> None:
    """Where small steps show one slope and large ones another, count both as possible.

    That is how a function computed in a lower precision looks, and also one that is meant to have steps.
    """
    fourth = grid.fourth
    if fourth.shape[1] < TWO_SLOPE_RUNGS:
        return
    error, middle, step = gaps(fourth), fourth[:, 1:-1], grid.step[:, 2:-1]
    bend = np.abs(grid.plus_slope - grid.minus_slope)[:, 2:-1]
    is_coarse = (step > COARSE_STEP * FINE * grid.scale[:, None]) & np.isfinite(error)
    is_smooth = is_coarse & (np.maximum(error, bend) < SMOOTH * np.abs(middle))
    best = least(np.where(is_smooth, error, np.inf))
    value, error_there, step_there = at(best, middle), at(best, error), at(best, step)
    deviation = np.abs(fourth - value[:, None, :]) * grid.step[:, 1:]
    finer = grid.step[:, 1:] < step_there[:, None, :]
    noise = np.where(finer & np.isfinite(deviation), deviation, 0.0).max(axis=1)
    bound = error_there + 2.0 * noise / step_there
    gap_to_fine = np.abs(value - out.value)
    reach = _reach(grid, out.value, REACH_GAP * gap_to_fine)
    suspect = at(best, is_smooth) & (gap_to_fine > BOUNDS * (out.bound + error_there)) & (reach < REACH * step_there)
    if not suspect.any():
        return
    slight = suspect & (gap_to_fine < SLIGHT * np.abs(value))
    stairs = suspect & ~slight & (reach < COARSE * grid.scale)
    bound = np.where(slight, np.maximum(bound, gap_to_fine), bound)
    for mask, kind, other in ((slight, Behaviour.REGULAR, value), (stairs, Behaviour.STAIRCASE, out.value.copy())):
        out.low[mask], out.high[mask] = np.minimum(value, other)[mask], np.maximum(value, other)[mask]
        out.value[mask], out.bound[mask], out.noise[mask] = value[mask], bound[mask], noise[mask]
        out.kind[mask], out.step[mask] = kind, step_there[mask]


def mark_finer_slopes(grid: Grid, out: Estimate) -> None:
    """Where much smaller steps agree on another slope than the chosen ones, count both as possible."""
    if grid.fourth.shape[1] < TWO_SLOPE_RUNGS:
        return
    middle, step, own = grid.fourth[:, 1:-1], grid.step[:, 2:-1], out.value[:, None, :]
    total = gaps(grid.fourth) + CENTRAL_NOISE * grid.level[:, 2:-1] / step
    size = np.maximum(np.abs(middle), np.abs(own))
    is_sure = (step < FINER_STEP * out.step[:, None, :]) & (total < FINER_ERROR * size)
    differs = np.abs(middle - own) > np.maximum(BOUNDS * (out.bound[:, None, :] + total), FINER_GAP * size)
    is_sure[:, :-1] &= is_sure[:, 1:]
    is_other = is_sure & differs
    if not is_other.any():
        return
    best = least(np.where(is_other, total, np.inf))
    found = at(best, is_other) & (out.kind <= Behaviour.ONE_SIDED)
    other, slack = at(best, middle), at(best, total)
    out.low[found], out.high[found] = np.minimum(other, out.value)[found], np.maximum(other, out.value)[found]
    out.bound[found] = np.maximum(out.bound, slack)[found]
    out.kind[found] = Behaviour.STAIRCASE


def _reach(grid: Grid, value: ndarray, tolerance: ndarray) -> ndarray:
    """The largest step up to which the central slope is the fine value, from the finest on, (M, J)."""
    near = np.abs(grid.slope - value[:, None, :]) <= tolerance[:, None, :] + GRID_ULPS * grid.level / grid.step
    run = np.logical_and.accumulate(near[:, ::-1], axis=1)[:, ::-1]
    found: ndarray = np.where(run, grid.step, 0.0).max(axis=1)
    return found
