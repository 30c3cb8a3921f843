"""Corners: points where no derivative exists: kinks, jumps, and slopes without a limit.

Marks them on an estimate; which gradients are valid there follows from the interval that it then holds.

Staircases: lines on which small steps show another slope than large ones.

Values may look flat, or have another slope, below the resolution of a lower precision: both slopes count as possible.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.grid import Grid, at, gaps, least
from opkit.checker.model.thresholds import (
    BOUNDS,
    CENTRAL_NOISE,
    COARSE,
    CORNER_RUNGS,
    GRID_ULPS,
    GROWTH,
    NEGLIGIBLE,
    NOISE_TIMES,
    SLIGHT,
    SMALL,
    SMOOTH,
    TWO_SLOPE_RUNGS,
)


def mark_kinks(grid: Grid, out: Estimate) -> None:
    """A bend D+ - D- that does not shrink with the step is a kink; its slopes bound the valid gradients."""
    bend = grid.plus_slope - grid.minus_slope
    own = np.maximum(grid.level, out.noise[:, None, :]) / grid.step
    clear = np.isfinite(bend) & (np.abs(bend) > NOISE_TIMES * own)
    size = np.abs(bend)
    steady = clear.copy()
    steady[:, :2] = False
    steady[:, 1:] &= clear[:, :-1] & (np.abs(bend[:, :-1] - bend[:, 1:]) < SMOOTH * size[:, 1:])
    steady[:, 2:] &= clear[:, :-2] & (np.abs(bend[:, :-2] - bend[:, 2:]) < 2 * SMOOTH * size[:, 2:])
    steady &= grid.step < COARSE * grid.scale[:, None]
    index = grid.finest(steady)
    _mark_singular(grid, out)
    if not steady.any():
        return

    size_there = at(index, size)
    doubt = np.abs(at(index, bend) - at(index - 1, bend)) + at(index, own)
    steepest = np.maximum(np.abs(grid.plus_slope), np.abs(grid.minus_slope))
    kink = steady.any(axis=1) & (size_there > NEGLIGIBLE * at(index, steepest))
    kink &= ~(out.step < at(index, grid.step)) | (out.bound > SLIGHT * size_there)
    right, left = grid.sides
    sides = ((left, grid.minus_slope), (right, grid.plus_slope))
    one, other = (np.where(side[1] < doubt, side[0], at(index, slope)) for side, slope in sides)
    slack = np.maximum(*(np.fmin(side[1], doubt) for side, _ in sides))
    _mark(out, kink, Behaviour.KINK, (np.minimum(one, other), np.maximum(one, other), slack))


def _mark(out: Estimate, where: ndarray, kind: Behaviour, found: tuple[ndarray, ndarray, ndarray]) -> None:
    """Enter an interval of valid derivatives: its ends, and how far they may be off."""
    low, high, bound = found
    out.low[where], out.high[where], out.value[where] = low[where], high[where], 0.5 * (low + high)[where]
    out.bound[where], out.kind[where] = bound[where], kind


def _mark_singular(grid: Grid, out: Estimate) -> None:
    """A slope that keeps growing as the step shrinks has no finite limit."""
    steep = np.fmax(np.abs(grid.plus_slope), np.abs(grid.minus_slope))
    quiet = np.isfinite(steep) & (steep * grid.step > NOISE_TIMES * grid.level)
    index = grid.finest(quiet)
    rungs = [at(np.maximum(index - coarser, 0), steep) for coarser in range(4)]
    singular = (quiet.sum(axis=1) >= CORNER_RUNGS) & (index[:, 0] >= CORNER_RUNGS - 1)
    for fine, coarse in pairwise(rungs):
        singular &= fine > GROWTH * coarse
    step = at(index, grid.step)
    singular &= (step < COARSE**2 * grid.scale) & (rungs[0] * step > NEGLIGIBLE * grid.size())
    out.kind[singular] = Behaviour.SINGULAR
    out.bound[singular] = np.inf


def mark_jumps(grid: Grid, out: Estimate) -> None:
    """A change that does not shrink with the step is a jump; 0 and the slopes beside it are valid."""
    leap = np.fmax(np.abs(grid.plus_change), np.abs(grid.minus_change))
    last = leap[:, -1]
    before = leap[:, -3] if leap.shape[1] > 2 else leap[:, 0]
    jump = (last > NOISE_TIMES * grid.level[:, -1]) & (np.abs(last - before) < SMALL * last)
    jump &= (leap.shape[1] >= CORNER_RUNGS) & (last > NEGLIGIBLE * grid.size())
    if not jump.any():
        return
    low, high = np.zeros(out.value.shape), np.zeros(out.value.shape)
    doubt = np.zeros(out.value.shape)
    for values, steps in ((grid.plus, grid.up), (grid.minus, -grid.down)):
        width = np.abs(np.diff(steps, axis=1))
        beside = np.diff(values, axis=1) / np.diff(steps, axis=1)
        # Coarse steps may pass over further jumps: slopes on finer ones that are not rounding are valid as well.
        is_clear = 2.0 * grid.level[:, 1:] / width < SMALL * np.abs(beside)
        half = beside.shape[1] // 2
        is_clear[:, :half] = False
        is_clear[:, half] = True
        is_clear &= np.isfinite(beside)
        low = np.minimum(low, np.where(is_clear, beside, np.inf).min(axis=1))
        high = np.maximum(high, np.where(is_clear, beside, -np.inf).max(axis=1))
        near = np.abs(beside[:, half - 1] - beside[:, half])
        doubt = np.fmax(doubt, np.where(np.isfinite(near), near, 0.0))
    _mark(out, jump, Behaviour.JUMP, (low, high, doubt))


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
