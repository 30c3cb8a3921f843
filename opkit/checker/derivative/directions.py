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
from opkit.checker.derivative.grid import extrapolated
from opkit.checker.derivative.ladder import Line, settle, steps_for
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import largest, place_of, resolution_of, signed, widened
from opkit.checker.model.thresholds import (
    BOUNDS,
    CANCELLED_ULPS,
    COARSE,
    FLOOR,
    FLOOR_SINGLE,
    IS_SINGLE,
    NOISE_TIMES,
    RATIO,
    SLOW_LAST,
    SLOW_STEPS,
    SMALL,
    SMOOTH,
    STEPS,
    USUAL_LAST,
)
from opkit.ir import Shape
from opkit.record import record


@record
class Probe:
    """One directional derivative: numeric with its bound, and what backward claims."""

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


def probe_leaf(
    ev: Evaluator,
    leaf: InputLeaf,
    rng: Generator,
    support: ndarray | None = None,
    tolerance: float = 0.0,
    is_slow: bool = False,
    gradient: ndarray | None = None,
) -> Probe:
    """Make one probe of one input; where two steps agree with backward, which is no accident, no others are tried.

    Args:
        ev: the prepared case.
        leaf: the input.
        rng: source of u and v.
        support: bool array of the input's shape; u is zero outside it.
        tolerance: what the user declared for this input.
        is_slow: whether calls take long: fewer steps are tried, and no outputs are left out.
        gradient: that backward gave for ``ev.weights()``, where that is known.
    """
    array = ev.array(leaf)
    direction = signed(rng, array.shape) * scales_of(array).reshape(array.shape)
    if support is not None:
        direction = np.where(support, direction, 0.0)
    weights = signed(rng, ev.entries) if gradient is None else ev.weights()
    base = ev.value_at(ev.inputs) if ev.checkable.surrogate else ev.vector(ev.outputs)
    line = Line(ev, {leaf: direction})

    def both(step: float) -> tuple[float, float]:  # differences from the value at x keep the digits
        above, below = (float(np.dot(weights, line.at(sign * step) - base)) for sign in (1.0, -1.0))
        return above, below

    weighted = _terms(ev, leaf, weights, direction) if gradient is None else gradient.reshape(array.shape) * direction
    resolution = resolution_of(array)
    ladder = steps_for(np.ones(1), STEPS, resolution)[0]
    values = {step: both(step) for step in ladder[:USUAL_LAST][-2:]}
    slopes = [[(above - below) / (2 * step)] for step, (above, below) in values.items()]
    expected, bound, kind, masked = float(extrapolated(np.array(slopes), 2)[0, 0]), 0.0, Behaviour.REGULAR, 0.0
    allowed = FLOOR * max(abs(expected), abs(float(weighted.sum())))
    if not abs(float(weighted.sum()) - expected) <= allowed:
        crossing = np.zeros(ev.entries, dtype=bool) if is_slow else _crossing(line, base, ev.eps())
        if crossing.any():
            masked, weights = float(crossing.mean()), np.where(crossing, 0.0, weights)
            weighted = _terms(ev, leaf, weights, direction)
            values.clear()
        rungs = ladder[:SLOW_LAST][-SLOW_STEPS:] if is_slow else ladder
        plus, minus = np.array([values.get(step) or both(step) for step in rungs]).T[:, None, :, None]
        eps = np.array([float(ev.eps().max(initial=0.0))])
        noise = np.sqrt(np.square(ev.eps() * weights * base).sum(keepdims=True))
        steps = rungs[None, :, None]
        found = settle(plus, minus, np.zeros(1), steps, steps, eps, np.ones((1, 1)), noise)
        expected, bound, kind = float(found.value[0, 0]), float(found.bound[0, 0]), Behaviour(int(found.kind[0, 0]))
        floor = FLOOR_SINGLE if max(float(eps[0]), resolution) > IS_SINGLE else FLOOR
        allowed = BOUNDS * bound + (floor + tolerance) * max(_length(weighted), abs(expected))
    scale = _length(weighted) / max(np.sqrt(float((weighted != 0).sum())), 1.0)
    if scale <= CANCELLED_ULPS * ev.eps().max(initial=0.0) * max(largest(base), ev.typical):
        scale = 0.0  # rounding of terms that cancel
    return Probe(expected, float(weighted.sum()), bound, allowed, scale, kind, masked)


def _terms(ev: Evaluator, leaf: InputLeaf, weights: ndarray, direction: ndarray) -> ndarray:
    """Return the terms of the slope along a direction that backward claims, NaN where it gives no gradient."""
    gradient = ev.gradients(ev.douts_from(weights))[leaf]
    is_there = gradient is not None and np.shape(gradient) == direction.shape
    return widened(gradient) * direction if is_there else np.full(direction.shape, np.nan)


def _length(terms: ndarray) -> float:
    return float(np.sqrt(np.sum(np.square(terms[np.isfinite(terms)]))))


def _crossing(line: Line, base: ndarray, eps: ndarray) -> ndarray:
    """Return the outputs (J,) that cross a kink or a jump on the way, none where they are most of them."""
    wide, near = ([line.at(sign * step) - base for sign in (1.0, -1.0)] for step in (COARSE, COARSE / RATIO))
    bend, near_bend = np.abs(wide[0] + wide[1]), np.abs(near[0] + near[1])
    noise = NOISE_TIMES * eps * np.abs(base)
    crossing = ~(bend <= SMALL * (np.abs(wide[0]) + np.abs(wide[1])) + noise)
    crossing |= ~(near_bend <= SMOOTH * bend + noise)
    found: ndarray = crossing & (2 * crossing.mean() <= 1)
    return found


def bisect(ev: Evaluator, leaf: InputLeaf, seed: int) -> tuple[Shape, Probe] | None:
    """Halve the support of the direction until one wrong element is left; None where the trace is lost."""
    array = ev.array(leaf)

    def probed(low: int, high: int) -> Probe:
        support = np.zeros(array.size, dtype=bool)
        support[low:high] = True
        return probe_leaf(ev, leaf, np.random.default_rng([seed, low, high]), support.reshape(array.shape))

    low, high = 0, array.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if probed(low, middle).is_wrong else (middle, high)
    last = probed(low, high)
    return (place_of(low, array.shape), last) if last.is_wrong else None
