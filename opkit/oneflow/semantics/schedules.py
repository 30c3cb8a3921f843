"""Learning rates as functions of the train step: warm-up and decay (OneFlow v0.4.0's optimizer configuration).

Numbers only; ``opkit.oneflow.semantics.training`` counts the steps and uses the rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from opkit.errors import UsageError
from opkit.ops.core.types import Ints
from opkit.record import record


@record
class Warmup:
    """The factor on the base rate in the first ``steps`` steps."""

    steps: int
    factor: Callable[[int], float]


@record
class Schedule:
    """A learning rate by step.

    Args:
        base: the rate that warm-up scales.
        decay: ``decay(step)`` -> rate; the step counts from 0 and is not shifted by warm-up.
        warmup: replaces the decay while it lasts, or None.
    """

    base: float
    decay: Callable[[int], float]
    warmup: Warmup | None = None

    def rate(self, step: int) -> np.float32:
        """Return the learning rate of a step as float32."""
        if self.warmup is not None and step < self.warmup.steps:
            warm: np.float32 = np.float32(self.base * self.warmup.factor(step))
            return warm
        rate: np.float32 = np.float32(self.decay(step))
        return rate


def constant_warmup(steps: int, multiplier: float) -> Warmup:
    """``base * multiplier`` for ``steps`` steps."""
    return Warmup(steps, lambda _: multiplier)


def linear_warmup(steps: int, start_multiplier: float) -> Warmup:
    """A straight line from ``base * start_multiplier`` up to ``base``."""
    return Warmup(steps, lambda step: start_multiplier + (1.0 - start_multiplier) * step / steps)


def piecewise_constant(boundaries: Ints, values: Sequence[float], warmup: Warmup | None = None) -> Schedule:
    """``values[i]`` up to and including step ``boundaries[i]``, the last value after the last boundary.

    Raises:
        UsageError: there is not exactly one value more than boundaries.
    """
    if len(values) != len(boundaries) + 1:
        raise UsageError(
            f"a piecewise schedule takes one value more than boundaries, got {len(values)} and {len(boundaries)}"
        )
    return Schedule(float(values[0]), lambda step: float(values[_interval(boundaries, step)]), warmup)


def piecewise_scaling(
    base: float, boundaries: Ints, scale: float | Sequence[float], warmup: Warmup | None = None
) -> Schedule:
    """``base`` times the scale of the interval that the step lies in; the first interval's scale is 1.

    One scale, a number or a list of one, holds after every boundary.

    Raises:
        UsageError: there are several scales, and not one per boundary.
    """
    given = list(scale) if isinstance(scale, Sequence) else [scale]
    scales = [1.0, *(given * len(boundaries) if len(given) == 1 else given)]
    if len(scales) != len(boundaries) + 1:
        raise UsageError(
            f"a piecewise schedule takes one scale per boundary, got {len(scales) - 1} and {len(boundaries)}"
        )
    return Schedule(base, lambda step: base * scales[_interval(boundaries, step)], warmup)


def polynomial(
    base: float, steps: int, end: float = 1e-4, power: float = 1.0, cycle: bool = False, warmup: Warmup | None = None
) -> Schedule:
    """``(base - end) * (1 - step/steps)**power + end``; with ``cycle`` the span grows by whole multiples."""

    def decay(step: int) -> float:
        span, now = float(steps), float(step)
        if cycle:
            now = max(now, 1.0)  # the source counts step 0 as 1 here
            span *= math.ceil(now / span)
        else:
            now = min(now, span)
        rate: float = (base - end) * (1.0 - now / span) ** power + end
        return rate

    return Schedule(base, decay, warmup)


def cosine(base: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None) -> Schedule:
    """Half a cosine from ``base`` down to ``base * alpha`` (Loshchilov and Hutter 2017)."""

    def decay(step: int) -> float:
        wave = 0.5 * (1.0 + math.cos(math.pi * min(step, steps) / steps))
        return base * ((1.0 - alpha) * wave + alpha)

    return Schedule(base, decay, warmup)


def exponential(
    base: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
) -> Schedule:
    """``base * decay_rate ** p`` with ``p = step/steps``, floored with ``staircase``."""
    return Schedule(base, lambda step: base * decay_rate ** _progress(step, steps, staircase), warmup)


def inverse_time(
    base: float, steps: int, decay_rate: float, staircase: bool = False, warmup: Warmup | None = None
) -> Schedule:
    """``base / (1 + decay_rate * p)`` with ``p = step/steps``, floored with ``staircase``."""
    return Schedule(base, lambda step: base / (1.0 + decay_rate * _progress(step, steps, staircase)), warmup)


def _interval(boundaries: Ints, step: int) -> int:
    for index, boundary in enumerate(boundaries):
        if step <= boundary:
            return index
    return len(boundaries)


def _progress(step: int, steps: int, staircase: bool) -> float:
    progress = step / steps
    return float(math.floor(progress)) if staircase else progress
