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
from opkit.checker.derivative.lines import Line
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import place_of, resolution_of, signed, widened
from opkit.checker.model.thresholds import (
    BOUNDS,
    COARSE,
    CORNER_NOISE,
    FLOOR,
    FLOOR_SINGLE,
    IS_SINGLE,
    RATIO,
    SLOW_STEPS,
    SMALL,
    SMOOTH,
    STEPS,
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
    direction = signed(rng, array.shape) * scales_of(array).reshape(array.shape)
    if support is not None:
        direction = np.where(support, direction, 0.0)
    weights, base = signed(rng, entries), ev.value_at(ev.inputs)
    line = Line(ev, {leaf: direction})
    crossing = np.zeros(entries, dtype=bool) if is_slow else _crossing(line, base, ev.eps())
    weights[crossing] = 0.0
    gradient = ev.gradients(ev.douts_from(weights))[leaf]
    claimed = np.full(array.shape, np.nan) if gradient is None else widened(gradient)
    if claimed.shape != array.shape:
        claimed = np.full(array.shape, np.nan)
    weighted = claimed * direction
    resolution = resolution_of(array)
    steps = steps_for(np.ones(1), SLOW_STEPS if is_slow else STEPS, resolution)
    # Differences from the value at x keep the digits.
    plus, minus = (
        np.array([np.dot(weights, line.at(sign * step) - base) for step in steps[0]])[None, :, None]
        for sign in (1.0, -1.0)
    )
    eps = np.array([float(ev.eps().max(initial=0.0))])
    noise = np.sqrt(np.square(ev.eps() * weights * base).sum(keepdims=True))
    found = settle(plus, minus, np.zeros(1), steps, steps, eps, np.ones(1), noise)
    scale = float(np.sqrt(np.sum(np.square(weighted[np.isfinite(weighted)]))))
    single = float(eps[0]) > IS_SINGLE or resolution > IS_SINGLE
    expected, bound = float(found.value[0, 0]), float(found.bound[0, 0])
    floor = (tolerance + (FLOOR_SINGLE if single else FLOOR)) * max(scale, abs(expected))
    typical = scale / max(np.sqrt(max(int((weighted != 0).sum()), 1)), 1.0)
    return Probe(
        expected,
        float(weighted.sum()),
        bound,
        BOUNDS * bound + floor,
        typical,
        Behaviour(int(found.kind[0, 0])),
        float(crossing.mean()) if entries else 0.0,
    )


def _crossing(line: Line, base: ndarray, eps: ndarray) -> ndarray:
    """Return the outputs (J,) that cross a kink or a jump on the way, none where they are most of them."""
    wide, near = ([line.at(sign * step) - base for sign in (1.0, -1.0)] for step in (COARSE, COARSE / RATIO))
    bend, near_bend = np.abs(wide[0] + wide[1]), np.abs(near[0] + near[1])
    noise = CORNER_NOISE * eps * np.abs(base)
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
