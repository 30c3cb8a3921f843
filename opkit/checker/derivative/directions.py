"""Random directional derivatives of a case that is too large for its whole Jacobian.

A probe pairs a random incoming gradient v with a random step direction u (signs times magnitudes, so that no
element is invisible and no swap cancels): <backward(v), u> against the numeric derivative of <v, forward(x + t u)>.
Nothing in the tolerance grows with the number of elements beyond the measured noise.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.ladder import settle, steps_for
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import place_of, resolution_of, signed, widened
from opkit.checker.model.thresholds import (
    BOUNDS,
    CORNER_BEND,
    CORNER_NEAR,
    CORNER_SHARE,
    CORNER_STEP,
    CORNER_ULPS,
    FLOOR,
    FLOOR_SINGLE,
    IS_SINGLE,
    SLOW_STEPS,
    STEPS,
)
from opkit.ir import Shape
from opkit.record import record


@record
class Probe:
    """One directional derivative: numeric with its bound, and what backward claims."""

    leaf: InputLeaf
    expected: float
    actual: float
    bound: float
    tolerance: float
    scale: float
    kind: Behaviour
    masked: float

    @property
    def is_wrong(self) -> bool:
        """Whether the deviation exceeds three bounds plus the floor."""
        if self.kind > Behaviour.ONE_SIDED or not np.isfinite(self.bound):
            return False
        return not abs(self.actual - self.expected) <= self.tolerance

    @property
    def detectable(self) -> float:
        """The smallest error of one typical element that would have been seen, relative to it."""
        return self.tolerance / self.scale if self.scale else float("inf")


class _Line:
    """The reference along x + t u, weighted by v, as differences from its value at x (which keeps the digits)."""

    def __init__(self, ev: Evaluator, leaf: InputLeaf, direction: ndarray, weights: ndarray) -> None:
        self.ev, self.leaf, self.weights = ev, leaf, weights
        self.array = ev.array(leaf)
        self.direction = direction
        self.base = ev.value_at(ev.inputs)
        self.noise = self._noise()
        (self._moved,), self._moving = ev.movable([leaf])
        self._exact = self._moved if self.array.dtype == np.float64 else np.empty(self.array.shape)
        self._change = np.empty_like(self.base)

    def moved(self, step: float) -> ndarray:
        """The reference at x + step u; the next call may write into the result."""
        np.multiply(self.direction, step, out=self._exact)
        np.add(self._exact, self.array, out=self._exact)
        if self._moved is not self._exact:
            self._moved[...] = self._exact
        return self.ev.value_of(self._moving)

    def value(self, step: float) -> float:
        found = self.moved(step)
        if found.shape != self.base.shape:
            return float("nan")
        return float(np.dot(self.weights, np.subtract(found, self.base, out=self._change)))

    def leave_out(self, entries: ndarray) -> None:
        """Give entries (a mask) no weight."""
        self.weights = np.where(entries, 0.0, self.weights)
        self.noise = self._noise()

    def _noise(self) -> float:
        level = self.weights * self.base
        level *= self.ev.eps()
        return float(np.sqrt(np.dot(level, level)))


def probe_leaf(
    ev: Evaluator,
    leaf: InputLeaf,
    rng: Generator,
    support: ndarray | None = None,
    tolerance: float = 0.0,
    is_slow: bool = False,
) -> Probe:
    """Make one probe of one input.

    Args:
        ev: the prepared case.
        leaf: the input.
        rng: source of u and v.
        support: bool array of the input's shape; u is zero outside it.
        tolerance: what the user declared for this input.
        is_slow: whether calls take long: fewer steps are tried, and no outputs are left out.
    """
    array = ev.array(leaf)
    entries = ev.entries
    signs = signed(rng, array.shape)
    direction = signs * scales_of(array).reshape(array.shape)
    if support is not None:
        direction = np.where(support, direction, 0.0)
    weights = signed(rng, entries)
    line = _Line(ev, leaf, direction, weights)
    masked = 0.0 if is_slow else _mask_corners(line)
    douts = ev.douts_from(line.weights)
    gradient = ev.gradients(douts)[leaf]
    claimed = np.full(array.shape, np.nan) if gradient is None else widened(gradient)
    if claimed.shape != array.shape:
        claimed = np.full(array.shape, np.nan)
    weighted = claimed * direction
    resolution = resolution_of(array)
    steps = steps_for(np.ones(1), SLOW_STEPS if is_slow else STEPS, resolution)
    plus = np.array([line.value(step) for step in steps[0]])[None, :, None]
    minus = np.array([line.value(-step) for step in steps[0]])[None, :, None]
    eps = np.array([float(ev.eps().max(initial=0.0))])
    found = settle(plus, minus, np.zeros(1), steps, steps, eps, np.ones(1), np.array([line.noise]))
    scale = float(np.sqrt(np.sum(np.square(weighted[np.isfinite(weighted)]))))
    single = float(eps[0]) > IS_SINGLE or resolution > IS_SINGLE
    expected, bound = float(found.value[0, 0]), float(found.bound[0, 0])
    floor = (FLOOR_SINGLE if single else FLOOR) * max(scale, abs(expected)) + tolerance * max(scale, abs(expected))
    typical = scale / max(np.sqrt(max(int((weighted != 0).sum()), 1)), 1.0)
    return Probe(
        leaf,
        expected,
        float(weighted.sum()),
        bound,
        BOUNDS * bound + floor,
        typical,
        Behaviour(int(found.kind[0, 0])),
        masked,
    )


def _mask_corners(line: _Line) -> float:
    """Take outputs that cross a kink or a jump on the way out of the weights; return their share."""
    step = CORNER_STEP
    above, below = line.moved(step).copy(), line.moved(-step).copy()
    bend = np.abs(above - 2 * line.base + below)
    change = np.abs(above - line.base) + np.abs(below - line.base)
    near_bend = np.abs(line.moved(step / 4) - line.base - (line.base - line.moved(-step / 4)))
    noise = CORNER_ULPS * line.ev.eps() * np.abs(line.base)
    crossing = ~(bend <= CORNER_BEND * change + noise) | ~(near_bend <= CORNER_NEAR * bend + noise)
    share = float(crossing.mean()) if crossing.size else 0.0
    if 0.0 < share <= CORNER_SHARE:
        line.leave_out(crossing)
        return share
    return 0.0


def bisect(ev: Evaluator, leaf: InputLeaf, seed: int) -> tuple[Shape, Probe] | None:
    """Halve the support of the direction until one wrong element is left; None where the trace is lost."""
    array = ev.array(leaf)
    low, high = 0, array.size
    last: Probe | None = None
    while high - low > 1:
        middle = (low + high) // 2
        support = np.zeros(array.size, dtype=bool)
        support[low:middle] = True
        probe = probe_leaf(ev, leaf, np.random.default_rng([seed, low, middle]), support.reshape(array.shape))
        if probe.is_wrong:
            high, last = middle, probe
        else:
            low = middle
    support = np.zeros(array.size, dtype=bool)
    support[low] = True
    last = probe_leaf(ev, leaf, np.random.default_rng([seed, low]), support.reshape(array.shape))
    if not last.is_wrong:
        return None
    return place_of(low, array.shape), last
