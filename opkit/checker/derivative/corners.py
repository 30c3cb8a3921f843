"""Corners: points where no derivative exists: kinks, jumps, and slopes without a limit.

Marks them on an estimate; which gradients are valid there follows from the interval that it then holds.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.grid import Grid, Picked
from opkit.checker.model.thresholds import (
    CLEAR,
    GROWTH,
    JUMP_CHANGE,
    JUMP_NOISE,
    JUMP_RUNGS,
    JUMP_STEADY,
    KINK_BEND,
    KINK_DOUBT,
    KINK_NOISE,
    KINK_STEADIER,
    KINK_STEADY,
    KINK_STEP,
    QUIET_NOISE,
    QUIET_RUNGS,
    SINGULAR_CHANGE,
    SINGULAR_STEP,
)


def mark_kinks(grid: Grid, out: Estimate, left: Picked, right: Picked) -> None:
    """A bend D+ - D- that does not shrink with the step is a kink; its slopes bound the valid gradients."""
    bend = grid.plus_slope - grid.minus_slope
    own = np.maximum(grid.level, out.noise[:, None, :]) / grid.step
    clear = np.isfinite(bend) & (np.abs(bend) > KINK_NOISE * own)
    size = np.abs(bend)
    steady = clear.copy()
    steady[:, :2] = False
    steady[:, 1:] &= clear[:, :-1] & (np.abs(bend[:, :-1] - bend[:, 1:]) < KINK_STEADY * size[:, 1:])
    steady[:, 2:] &= clear[:, :-2] & (np.abs(bend[:, :-2] - bend[:, 2:]) < KINK_STEADIER * size[:, 2:])
    steady &= grid.step < KINK_STEP * grid.scale[:, None]
    index = grid.finest(steady)
    _mark_singular(grid, out)
    if not steady.any():
        return

    def there(values: ndarray) -> ndarray:
        return np.take_along_axis(np.broadcast_to(values, bend.shape), index, axis=1)[:, 0]

    slope_right, slope_left, step = there(grid.plus_slope), there(grid.minus_slope), there(grid.step)
    doubt = np.abs(there(bend) - np.take_along_axis(bend, index - 1, axis=1)[:, 0]) + there(own)
    slopes = np.maximum(np.abs(slope_right), np.abs(slope_left))
    kink = steady.any(axis=1) & (there(size) > KINK_BEND * slopes)
    kink &= ~(out.step < step) | (out.bound > KINK_DOUBT * there(size))
    use_right, use_left = right[1] < doubt, left[1] < doubt
    pick_right, pick_left = np.where(use_right, right[0], slope_right), np.where(use_left, left[0], slope_left)
    slack = np.maximum(np.where(use_right, right[1], doubt), np.where(use_left, left[1], doubt))
    out.low[kink] = np.minimum(pick_left, pick_right)[kink]
    out.high[kink] = np.maximum(pick_left, pick_right)[kink]
    out.value[kink] = 0.5 * (pick_left + pick_right)[kink]
    out.bound[kink] = slack[kink]
    out.kind[kink] = Behaviour.KINK


def _mark_singular(grid: Grid, out: Estimate) -> None:
    """A slope that keeps growing as the step shrinks has no finite limit."""
    steep = np.fmax(np.abs(grid.plus_slope), np.abs(grid.minus_slope))
    quiet = np.isfinite(steep) & (steep * grid.step > QUIET_NOISE * grid.level)
    index = grid.finest(quiet)
    fine = np.take_along_axis(steep, index, axis=1)[:, 0]
    coarse = np.take_along_axis(steep, np.maximum(index - 1, 0), axis=1)[:, 0]
    coarser = np.take_along_axis(steep, np.maximum(index - 2, 0), axis=1)[:, 0]
    coarsest = np.take_along_axis(steep, np.maximum(index - 3, 0), axis=1)[:, 0]
    enough = (quiet.sum(axis=1) >= QUIET_RUNGS) & (index[:, 0] >= QUIET_RUNGS - 1)
    step_there = np.take_along_axis(np.broadcast_to(grid.step, steep.shape), index, axis=1)[:, 0]
    growth = GROWTH
    grows = (fine > growth * coarse) & (coarse > growth * coarser) & (coarser > growth * coarsest)
    change = np.take_along_axis(steep * grid.step, index, axis=1)[:, 0]
    singular = enough & grows & (step_there < SINGULAR_STEP * grid.scale) & (change > SINGULAR_CHANGE * grid.size())
    out.kind[singular] = Behaviour.SINGULAR
    out.bound[singular] = np.inf


def mark_jumps(grid: Grid, out: Estimate) -> None:
    """A change that does not shrink with the step is a jump; 0 and the slopes beside it are valid."""
    leap = np.fmax(np.abs(grid.plus_change), np.abs(grid.minus_change))
    last = leap[:, -1]
    before = leap[:, -3] if leap.shape[1] > 2 else leap[:, 0]
    jump = (last > JUMP_NOISE * grid.level[:, -1]) & (np.abs(last - before) < JUMP_STEADY * last)
    jump &= (leap.shape[1] >= JUMP_RUNGS) & (last > JUMP_CHANGE * grid.size())
    if not jump.any():
        return
    low, high = np.zeros(out.value.shape), np.zeros(out.value.shape)
    doubt = np.zeros(out.value.shape)
    for values, steps in ((grid.plus, grid.up), (grid.minus, -grid.down)):
        width = np.abs(np.diff(steps, axis=1))
        beside = np.diff(values, axis=1) / np.diff(steps, axis=1)
        # Coarse steps may pass over further jumps: slopes on finer ones that are not rounding are valid as well.
        is_clear = 2.0 * grid.level[:, 1:] / width < CLEAR * np.abs(beside)
        half = beside.shape[1] // 2
        is_clear[:, :half] = False
        is_clear[:, half] = True
        is_clear &= np.isfinite(beside)
        low = np.minimum(low, np.where(is_clear, beside, np.inf).min(axis=1))
        high = np.maximum(high, np.where(is_clear, beside, -np.inf).max(axis=1))
        near = np.abs(beside[:, half - 1] - beside[:, half])
        doubt = np.fmax(doubt, np.where(np.isfinite(near), near, 0.0))
    out.low[jump], out.high[jump] = low[jump], high[jump]
    out.value[jump] = 0.5 * (low + high)[jump]
    out.bound[jump] = doubt[jump]
    out.kind[jump] = Behaviour.JUMP
