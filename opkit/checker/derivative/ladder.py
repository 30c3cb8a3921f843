"""Numeric derivatives along lines, each with a bound on its own error.

Knows values at steps only: which function, input or output they belong to is the caller's business.

A ladder of central differences c(h), ratio 4 between steps, is extrapolated once (Richardson):
d4 = c(h) + (c(h) - c(4h)) / 15. The error of d4 is bounded by its distance to both neighbours on the ladder plus the
noise of the values over h. The noise is the larger of the value's own rounding and of what the finest steps show.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

__all__ = ["RATIO", "STEPS", "Estimate", "Behaviour", "settle", "steps_for"]

#: Ratio between neighbouring steps; a power of two, so that h itself is exact.
RATIO = 4.0
#: Rungs of a full ladder.
STEPS = 14
#: The first step, as a share of the magnitude: no simple fraction, so that no period divides all steps.
_FIRST = 0.2836
#: Steps below this share of the scale are where float32 or float16 inside a kernel shows.
_FINE = 2e-5
#: A function that is flat below this share of the scale may be one computed in float16.
_COARSE = 4e-3


class Behaviour(IntEnum):
    """What the values look like around the point."""

    REGULAR = 0
    ONE_SIDED = 1
    KINK = 2
    JUMP = 3
    STAIRCASE = 4
    SINGULAR = 5
    UNKNOWN = 6


@dataclass(frozen=True, slots=True)
class Estimate:
    """Derivatives of J values along M lines.

    Args:
        value: (M, J) derivative; at a kink the middle of the slopes.
        bound: (M, J) how far it may be off; infinite where nothing can be said.
        kind: (M, J) of Behaviour.
        low, high: (M, J) the interval of valid derivatives at kinks, jumps and staircases.
        noise: (M, J) measured noise of the values.
        step: (M, J) the step that the value rests on.
    """

    value: np.ndarray
    bound: np.ndarray
    kind: np.ndarray
    low: np.ndarray
    high: np.ndarray
    noise: np.ndarray
    step: np.ndarray


def steps_for(scale: np.ndarray | float, count: int = STEPS, eps: float = 2.3e-16) -> np.ndarray:
    """Return (M, K) steps, largest first, for lines whose points have these magnitudes.

    Args:
        scale: (M,) magnitudes.
        count: rungs.
        eps: the input dtype's resolution; steps below 16 eps are left out.
    """
    base = 2.0 ** np.floor(np.log2(np.maximum(np.asarray(scale, dtype=np.float64), 1e-300))) * _FIRST
    powers = RATIO ** -np.arange(count, dtype=np.float64)
    powers = powers[powers >= 64.0 * eps]
    steps: np.ndarray = np.multiply.outer(base, powers)
    return steps


def settle(
    plus: np.ndarray,
    minus: np.ndarray,
    base: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    eps: np.ndarray,
    scale: np.ndarray,
    floor: np.ndarray | float = 0.0,
) -> Estimate:
    """Estimate derivatives from the values on a ladder.

    Args:
        plus: (M, K, J) values at x + up, NaN where there are none.
        minus: (M, K, J) values at x - down.
        base: (J,) or (M, J) values at x.
        up: (M, K) the steps above as they really were, largest first.
        down: (M, K) the steps below.
        eps: (J,) resolution of each value's dtype.
        scale: (M,) magnitude of the points.
        floor: (J,) absolute noise that each value has at least.
    """
    base = np.broadcast_to(base, (plus.shape[0], plus.shape[2]))
    grid = _Grid(plus, minus, base, up, down, eps, scale, floor)
    central = grid.central()
    right, left = grid.one_sided(grid.plus_slope), grid.one_sided(grid.minus_slope)
    value, bound, noise, step = central
    kind = np.full(value.shape, Behaviour.REGULAR, dtype=np.int8)
    both = np.isfinite(plus).any(axis=1) & np.isfinite(minus).any(axis=1)
    for side in (right, left):
        better = ~np.isfinite(bound) & np.isfinite(side[1]) | (side[1] < 0.1 * bound) & ~both
        value, bound = np.where(better, side[0], value), np.where(better, side[1], bound)
        step = np.where(better, side[3], step)
        kind[better] = Behaviour.ONE_SIDED
    kind[~np.isfinite(bound)] = Behaviour.UNKNOWN
    low, high = value.copy(), value.copy()
    estimate = Estimate(value, bound, kind, low, high, noise, step)
    grid.mark_staircases(estimate)
    grid.mark_finer_slopes(estimate)
    grid.mark_kinks(estimate, left, right)
    grid.mark_jumps(estimate)
    return estimate


_Picked: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _Grid:
    """The values of one ladder, and the difference quotients made of them."""

    def __init__(
        self,
        plus: np.ndarray,
        minus: np.ndarray,
        base: np.ndarray,
        up: np.ndarray,
        down: np.ndarray,
        eps: np.ndarray,
        scale: np.ndarray,
        floor: np.ndarray | float,
    ) -> None:
        self.plus, self.minus, self.base = plus, minus, base
        self.up, self.down = up[:, :, None], down[:, :, None]
        self.step = 0.5 * (self.up + self.down)
        self.scale = scale[:, None]
        with np.errstate(all="ignore"):
            self.plus_change = plus - base[:, None, :]
            self.minus_change = base[:, None, :] - minus
            self.plus_slope = self.plus_change / self.up
            self.minus_slope = self.minus_change / self.down
            self.slope = (plus - minus) / (self.up + self.down)
            size = np.fmax(np.fmax(np.abs(plus), np.abs(minus)), np.abs(base)[:, None, :])
            self.level = np.maximum(eps * size, floor)

    def central(self) -> _Picked:
        """Value, bound, noise and step from central differences."""
        with np.errstate(all="ignore"):
            second = self.slope
            fourth = second[:, 1:] + (second[:, 1:] - second[:, :-1]) / 15.0
        return self._select(fourth, self.slope, self.step, 1.2)

    def one_sided(self, slope: np.ndarray) -> _Picked:
        """Value, bound, noise and step from slopes on one side (two extrapolations)."""
        with np.errstate(all="ignore"):
            first = slope[:, 1:] + (slope[:, 1:] - slope[:, :-1]) / 3.0
            second = first[:, 1:] + (first[:, 1:] - first[:, :-1]) / 15.0
        return self._select(second, slope, self.step, 4.0)

    def _select(self, table: np.ndarray, slope: np.ndarray, step: np.ndarray, amplification: float) -> _Picked:
        """Pick the rung whose distance to both neighbours plus noise is least; then measure the noise and repick."""
        lines, rungs, width = table.shape
        if rungs < 3:
            nothing = np.full((lines, width), np.nan)
            return nothing, np.full((lines, width), np.inf), np.zeros((lines, width)), nothing
        offset = slope.shape[1] - rungs
        with np.errstate(all="ignore"):
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

    # --- values that look constant, or have another slope, below the resolution of a lower precision
    def mark_staircases(self, out: Estimate) -> None:
        """Where small steps show one slope and large ones another, hold both for possible.

        That is how a function computed in a lower precision looks, and also one that is meant to have steps.
        """
        with np.errstate(all="ignore"):
            fourth = self.slope[:, 1:] + (self.slope[:, 1:] - self.slope[:, :-1]) / 15.0
            if fourth.shape[1] < 6:
                return
            gap = np.abs(np.diff(fourth, axis=1))
            error = np.maximum(gap[:, :-1], gap[:, 1:])
            middle = fourth[:, 1:-1]
            step = self.step[:, 2:-1]
            bend = np.abs(self.plus_slope - self.minus_slope)[:, 2:-1]
            size = np.abs(middle)
            is_coarse = (step > 30.0 * _FINE * self.scale[:, None]) & np.isfinite(error)
            is_smooth = is_coarse & (error < 0.3 * size) & (bend < 0.3 * size)
        score = np.where(is_smooth, error, np.inf)
        best = np.argmin(score, axis=1)[:, None, :]
        found = np.isfinite(np.take_along_axis(score, best, axis=1))[:, 0]
        value = np.take_along_axis(middle, best, axis=1)[:, 0]
        error_there = np.take_along_axis(error, best, axis=1)[:, 0]
        step_there = np.take_along_axis(np.broadcast_to(step, middle.shape), best, axis=1)[:, 0]
        with np.errstate(all="ignore"):
            deviation = np.abs(fourth - value[:, None, :]) * self.step[:, 1:]
            finer = self.step[:, 1:] < step_there[:, None, :]
            noise = np.where(finer & np.isfinite(deviation), deviation, 0.0).max(axis=1)
            bound = error_there + 2.0 * noise / step_there
            conflict = np.abs(value - out.value) > 3.0 * out.bound + 3.0 * error_there
            gap_to_fine = np.abs(value - out.value)
            reach = self._reach(out.value, 0.25 * gap_to_fine)
            slight = conflict & found & (gap_to_fine < 0.01 * np.abs(value)) & (reach < 0.1 * step_there)
            suspect = conflict & found & (reach < 0.1 * step_there)
            stairs = suspect & ~slight & (reach < _COARSE * self.scale)
            bound = np.where(slight, np.maximum(bound, gap_to_fine), bound)
        for mask, kind in ((slight, Behaviour.REGULAR), (stairs, Behaviour.STAIRCASE)):
            if not mask.any():
                continue
            other = out.value if kind is Behaviour.STAIRCASE else value
            out.low[mask], out.high[mask] = np.minimum(value, other)[mask], np.maximum(value, other)[mask]
            out.value[mask], out.bound[mask], out.noise[mask] = value[mask], bound[mask], noise[mask]
            out.kind[mask], out.step[mask] = kind, step_there[mask]

    def mark_finer_slopes(self, out: Estimate) -> None:
        """Where much smaller steps agree on another slope than the chosen ones, hold both for possible."""
        with np.errstate(all="ignore"):
            fourth = self.slope[:, 1:] + (self.slope[:, 1:] - self.slope[:, :-1]) / 15.0
            if fourth.shape[1] < 6:
                return
            gap = np.abs(np.diff(fourth, axis=1))
            error = np.maximum(gap[:, :-1], gap[:, 1:])
            middle, step = fourth[:, 1:-1], np.broadcast_to(self.step[:, 2:-1], error.shape)
            total = error + 1.2 * self.level[:, 2:-1] / step
            size = np.maximum(np.abs(middle), np.abs(out.value)[:, None, :])
            is_sure = (step < 0.03 * out.step[:, None, :]) & (total < 5e-3 * size)
            differs = np.abs(middle - out.value[:, None, :]) > 3.0 * (out.bound[:, None, :] + total)
            differs &= np.abs(middle - out.value[:, None, :]) > 0.02 * size
            is_sure[:, :-1] &= is_sure[:, 1:]
            score = np.where(is_sure & differs, total, np.inf)
            best = np.argmin(score, axis=1)[:, None, :]
            found = np.isfinite(np.take_along_axis(score, best, axis=1))[:, 0] & (out.kind <= Behaviour.ONE_SIDED)
        if not found.any():
            return
        other = np.take_along_axis(middle, best, axis=1)[:, 0]
        slack = np.take_along_axis(total, best, axis=1)[:, 0]
        out.low[found], out.high[found] = np.minimum(other, out.value)[found], np.maximum(other, out.value)[found]
        out.bound[found] = np.maximum(out.bound, slack)[found]
        out.kind[found] = Behaviour.STAIRCASE

    def _reach(self, value: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
        """The largest step up to which the central slope is the fine value, from the finest on, (M, J)."""
        with np.errstate(all="ignore"):
            near = np.abs(self.slope - value[:, None, :]) <= tolerance[:, None, :] + 4.0 * self.level / self.step
        run = np.logical_and.accumulate(near[:, ::-1], axis=1)[:, ::-1]
        found: np.ndarray = np.where(run, self.step, 0.0).max(axis=1)
        return found

    # --- points where the derivative does not exist
    def mark_kinks(self, out: Estimate, left: _Picked, right: _Picked) -> None:
        """A bend D+ - D- that does not shrink with the step is a kink; its slopes bound the valid gradients."""
        with np.errstate(all="ignore"):
            bend = self.plus_slope - self.minus_slope
            own = np.maximum(self.level, out.noise[:, None, :]) / self.step
            clear = np.isfinite(bend) & (np.abs(bend) > 40.0 * own)
            size = np.abs(bend)
            steady = clear.copy()
            steady[:, :2] = False
            steady[:, 1:] &= clear[:, :-1] & (np.abs(bend[:, :-1] - bend[:, 1:]) < 0.25 * size[:, 1:])
            steady[:, 2:] &= clear[:, :-2] & (np.abs(bend[:, :-2] - bend[:, 2:]) < 0.5 * size[:, 2:])
            steady &= self.step < 1e-3 * self.scale[:, None]
            index = self._finest(steady)
        self._mark_singular(out)
        if not steady.any():
            return

        def there(values: np.ndarray) -> np.ndarray:
            picked: np.ndarray = np.take_along_axis(np.broadcast_to(values, bend.shape), index, axis=1)[:, 0]
            return picked

        with np.errstate(all="ignore"):
            slope_right, slope_left, step = there(self.plus_slope), there(self.minus_slope), there(self.step)
            doubt = np.abs(there(bend) - np.take_along_axis(bend, index - 1, axis=1)[:, 0]) + there(own)
            slopes = np.maximum(np.abs(slope_right), np.abs(slope_left))
            kink = steady.any(axis=1) & (there(size) > 1e-6 * slopes)
            kink &= ~(out.step < step) | (out.bound > 1e-3 * there(size))
            use_right, use_left = right[1] < doubt, left[1] < doubt
            pick_right, pick_left = np.where(use_right, right[0], slope_right), np.where(use_left, left[0], slope_left)
            slack = np.maximum(np.where(use_right, right[1], doubt), np.where(use_left, left[1], doubt))
        out.low[kink] = np.minimum(pick_left, pick_right)[kink]
        out.high[kink] = np.maximum(pick_left, pick_right)[kink]
        out.value[kink] = 0.5 * (pick_left + pick_right)[kink]
        out.bound[kink] = slack[kink]
        out.kind[kink] = Behaviour.KINK

    def _mark_singular(self, out: Estimate) -> None:
        """A slope that keeps growing as the step shrinks has no finite limit."""
        with np.errstate(all="ignore"):
            steep = np.fmax(np.abs(self.plus_slope), np.abs(self.minus_slope))
            quiet = np.isfinite(steep) & (steep * self.step > 100.0 * self.level)
            index = self._finest(quiet)
            fine = np.take_along_axis(steep, index, axis=1)[:, 0]
            coarse = np.take_along_axis(steep, np.maximum(index - 1, 0), axis=1)[:, 0]
            coarser = np.take_along_axis(steep, np.maximum(index - 2, 0), axis=1)[:, 0]
            coarsest = np.take_along_axis(steep, np.maximum(index - 3, 0), axis=1)[:, 0]
            enough = (quiet.sum(axis=1) >= 5) & (index[:, 0] >= 4)
            step_there = np.take_along_axis(np.broadcast_to(self.step, steep.shape), index, axis=1)[:, 0]
            grows = (fine > 1.15 * coarse) & (coarse > 1.15 * coarser) & (coarser > 1.15 * coarsest)
            change = np.take_along_axis(steep * self.step, index, axis=1)[:, 0]
            singular = enough & grows & (step_there < 1e-5 * self.scale) & (change > 1e-6 * self._size())
        out.kind[singular] = Behaviour.SINGULAR
        out.bound[singular] = np.inf

    def mark_jumps(self, out: Estimate) -> None:
        """A change that does not shrink with the step is a jump; 0 and the slopes beside it are valid."""
        with np.errstate(all="ignore"):
            leap = np.fmax(np.abs(self.plus_change), np.abs(self.minus_change))
            last = leap[:, -1]
            before = leap[:, -3] if leap.shape[1] > 2 else leap[:, 0]
            jump = (last > 1e3 * self.level[:, -1]) & (np.abs(last - before) < 0.05 * last)
            jump &= (leap.shape[1] >= 5) & (last > 1e-5 * self._size())
        if not jump.any():
            return
        low, high = np.zeros(out.value.shape), np.zeros(out.value.shape)
        doubt = np.zeros(out.value.shape)
        for values, steps in ((self.plus, self.up), (self.minus, -self.down)):
            with np.errstate(all="ignore"):
                width = np.abs(np.diff(steps, axis=1))
                beside = np.diff(values, axis=1) / np.diff(steps, axis=1)
                # Coarse steps may pass over further jumps: slopes on finer ones that are no rounding are valid as well.
                is_clear = 2.0 * self.level[:, 1:] / width < 0.05 * np.abs(beside)
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

    def _size(self) -> np.ndarray:
        """The largest magnitude on the ladder, (M, J)."""
        magnitude = np.fmax(np.abs(self.plus), np.abs(self.minus))
        found: np.ndarray = np.where(np.isfinite(magnitude), magnitude, 0.0).max(axis=1)
        return found

    @staticmethod
    def _finest(mask: np.ndarray) -> np.ndarray:
        """Index of the finest rung in the mask, (M, 1, J); the last one where there is none."""
        flipped = mask[:, ::-1]
        index: np.ndarray = (mask.shape[1] - 1 - np.argmax(flipped, axis=1))[:, None, :]
        return index
