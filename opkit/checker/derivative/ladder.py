"""Numeric derivatives along lines, each with a bound on its own error.

Knows values at steps only: which function, input or output they belong to is the caller's business.

A ladder of central differences c(h), ratio 4 between steps, is extrapolated once (Richardson):
d4 = c(h) + (c(h) - c(4h)) / 15. The error of d4 is bounded by its distance to both neighbours on the ladder plus the
noise of the values over h. The noise is the larger of the value's own rounding and of what the finest steps show.

Lines: running a case, or an elementwise function, along lines and settling its derivative there.

The bridge between what can be called and the ladder; knows nothing of names or verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.corners import mark_jumps, mark_kinks, mark_staircases
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.grid import Grid
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import resolution_of, widened
from opkit.checker.model.thresholds import BLOCK, FIRST_STEP, LEAST_STEP, NONZERO, RATIO, RESOLUTION, SMALL, STEPS
from opkit.checker.model.types import ArrayMap


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


class Line:
    """The reference of a case along x + t u.

    Args:
        ev: the prepared case.
        ways: u, of each input that moves.
        of_forward: whether forward itself is run, not the function whose derivative backward is.
    """

    def __init__(self, ev: Evaluator, ways: Mapping[InputLeaf, ndarray], of_forward: bool = False) -> None:
        self._ev, self._ways = ev, list(ways.values())
        self._arrays = [ev.array(leaf) for leaf in ways]
        self._buffers, self._moving = ev.movable(list(ways), of_forward)

    def at(self, step: float) -> ndarray:
        """Return the values (J,) at x + step u, NaN where there are none; the next call may write into them."""
        for buffer, array, way in zip(self._buffers, self._arrays, self._ways):
            buffer[...] = array + step * way
        return self._ev.value_of(self._moving)

    def ladder(self, steps: ndarray) -> tuple[ndarray, ndarray]:
        """Return the values (1, K, J) at steps (K,) to both sides."""
        above, below = (np.stack([self.at(sign * step).copy() for step in steps])[None] for sign in (1.0, -1.0))
        return above, below


def derivative(
    function: ArrayMap,
    points: ndarray,
    eps: float = RESOLUTION,
) -> Estimate:
    """Estimate f' of an elementwise function at every point at once (one ladder for all).

    Args:
        function: float array (n,) -> float array (n,), each element on its own.
        points: (n,).
        eps: resolution of what the function returns.

    Returns:
        An Estimate of one line with J = n values, each along its own step.

    Example:
        >>> found = derivative(np.sin, np.array([0.5]))
        >>> bool(abs(found.value[0, 0] - np.cos(0.5)) <= found.bound[0, 0] < 1e-9)
        True
    """
    points = np.asarray(points)
    sizes = np.abs(points).astype(np.float64)
    magnitude = np.where(sizes > 0, sizes, 1.0)
    steps = steps_for(magnitude, STEPS, resolution_of(points))
    with np.errstate(all="ignore"):
        above = [(points + step).astype(points.dtype) for step in steps.T]
        below = [(points - step).astype(points.dtype) for step in steps.T]
        plus, minus = (np.stack([widened(function(item)) for item in side])[None] for side in (above, below))
        base = widened(function(points))
        up = np.stack([item.astype(np.float64) - points for item in above])[None]
        down = np.stack([points - item.astype(np.float64) for item in below])[None]
    found = []
    for start in range(0, max(points.size, 1), BLOCK):
        block = slice(start, start + BLOCK)
        values = plus[..., block], minus[..., block], base[block], up[..., block], down[..., block]
        found.append(settle(*values, np.array([eps]), magnitude[None, block]))
    named = {item.name: np.concatenate([getattr(one, item.name) for one in found], axis=1) for item in fields(Estimate)}
    return Estimate(**named)
