"""Learning rates as functions of the train step: warm-up and decay (OneFlow v0.4.0's optimizer configuration).

Numbers only; ``opkit.oneflow.semantics.training`` counts the steps and uses the rate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from opkit.errors import UsageError
from opkit.ops.core.types import Ints
from opkit.record import record


@record
class Warmup:
    """The factor on the base rate in the first ``steps`` steps."""

    steps: int
    factor: Callable[[int], float]


class LrScheduler(ABC):
    """Base of the learning rates by step: a subclass has ``base_lr``, ``warmup`` and the decay.

    The step counts from 0 and is not shifted by warm-up, which scales ``base_lr`` while it lasts.
    """

    base_lr: float
    warmup: Warmup | None

    @abstractmethod
    def decay(self, step: int) -> float:
        """Return the rate of a step after warm-up."""

    def rate(self, step: int) -> np.float32:
        """Return the learning rate of a step as float32."""
        warmup = self.warmup
        is_warm = warmup and step < warmup.steps
        rate: np.float32 = np.float32(self.base_lr * warmup.factor(step) if warmup and is_warm else self.decay(step))
        return rate


def constant_warmup(steps: int, multiplier: float) -> Warmup:
    """``base_lr * multiplier`` in the first ``steps`` steps."""
    return Warmup(_positive("steps", steps), lambda _: multiplier)


def linear_warmup(steps: int, start_multiplier: float) -> Warmup:
    """A line from ``base_lr * start_multiplier`` to ``base_lr`` over the first ``steps`` steps."""
    _positive("steps", steps)
    return Warmup(steps, lambda step: start_multiplier + (1.0 - start_multiplier) * step / steps)


@dataclass(eq=False, repr=False)
class PiecewiseConstantScheduler(LrScheduler):
    """``values[i]`` up to and including step ``boundaries[i]``, the last value after the last boundary.

    Raises:
        UsageError: there is not exactly one value more than boundaries.
    """

    boundaries: Ints
    values: Sequence[float]
    warmup: Warmup | None = None

    def __post_init__(self) -> None:
        if len(self.values) != len(self.boundaries) + 1:
            raise UsageError(
                f"a piecewise schedule takes one value more than boundaries, got {len(self.values)} and "
                f"{len(self.boundaries)}"
            )
        self.base_lr = float(self.values[0])

    def decay(self, step: int) -> float:
        """Return the value of the interval that the step lies in."""
        return float(self.values[_interval(self.boundaries, step)])


@dataclass(eq=False, repr=False)
class PiecewiseScalingScheduler(LrScheduler):
    """``base_lr`` times the scale of the interval that the step lies in; the first interval's scale is 1.

    One scale, a number or a list of one, holds after every boundary.

    Raises:
        UsageError: there are several scales, and not one per boundary.
    """

    base_lr: float
    boundaries: Ints
    scale: float | Sequence[float]
    warmup: Warmup | None = None

    def __post_init__(self) -> None:
        given = list(self.scale) if isinstance(self.scale, Sequence) else [self.scale]
        self._scales = [1.0, *(given * len(self.boundaries) if len(given) == 1 else given)]
        if len(self._scales) != len(self.boundaries) + 1:
            raise UsageError(
                f"a piecewise schedule takes one scale per boundary, got {len(given)} and {len(self.boundaries)}"
            )

    def decay(self, step: int) -> float:
        """Return the rate of the interval that the step lies in."""
        return self.base_lr * self._scales[_interval(self.boundaries, step)]


@dataclass(eq=False, repr=False)
class _Stepped(LrScheduler):
    """A rate that decays over a number of steps."""

    base_lr: float
    steps: int

    def __post_init__(self) -> None:
        _positive("steps", self.steps)


@dataclass(eq=False, repr=False)
class PolynomialScheduler(_Stepped):
    """``(base_lr - end) * (1 - step/steps)**power + end``; with ``cycle`` the span grows by whole multiples."""

    end_learning_rate: float = 0.0001
    power: float = 1.0
    cycle: bool = False
    warmup: Warmup | None = None

    def decay(self, step: int) -> float:
        """Return the rate of a step after warm-up."""
        span, now, end = float(self.steps), float(step), self.end_learning_rate
        if self.cycle:
            now = max(now, 1.0)  # the source counts step 0 as 1 here
            span *= math.ceil(now / span)
        else:
            now = min(now, span)
        rate: float = (self.base_lr - end) * (1.0 - now / span) ** self.power + end
        return rate


@dataclass(eq=False, repr=False)
class CosineScheduler(_Stepped):
    """Half a cosine from ``base_lr`` down to ``base_lr * alpha`` (Loshchilov and Hutter 2017)."""

    alpha: float = 0.0
    warmup: Warmup | None = None

    def decay(self, step: int) -> float:
        """Return the rate of a step after warm-up."""
        wave = 0.5 * (1.0 + math.cos(math.pi * min(step, self.steps) / self.steps))
        return self.base_lr * ((1.0 - self.alpha) * wave + self.alpha)


@dataclass(eq=False, repr=False)
class _Decaying(_Stepped):
    """A rate that depends on ``step/steps``, floored with ``staircase``."""

    decay_rate: float
    staircase: bool = False
    warmup: Warmup | None = None

    def _progress(self, step: int) -> float:
        progress = step / self.steps
        return float(math.floor(progress)) if self.staircase else progress


class ExponentialScheduler(_Decaying):
    """``base_lr * decay_rate ** (step/steps)``."""

    def decay(self, step: int) -> float:
        """Return the rate of a step after warm-up."""
        rate: float = self.base_lr * self.decay_rate ** self._progress(step)
        return rate


class InverseTimeScheduler(_Decaying):
    """``base_lr / (1 + decay_rate * step/steps)``."""

    def decay(self, step: int) -> float:
        """Return the rate of a step after warm-up."""
        return self.base_lr / (1.0 + self.decay_rate * self._progress(step))


def _interval(boundaries: Ints, step: int) -> int:
    """Return which interval a step lies in; a boundary belongs to the one before it."""
    return next((index for index, boundary in enumerate(boundaries) if step <= boundary), len(boundaries))


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise UsageError(f"{name} is a positive int, got {value!r}")
    return value
