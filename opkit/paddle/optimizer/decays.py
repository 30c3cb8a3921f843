"""Schedules that warm up and decay: the rate follows from the epoch.

Source: Paddle 2.6, paddle.optimizer.lr.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Ints
from opkit.paddle.optimizer.scheduler import LRScheduler, ScheduleError, positive

__all__ = [
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LambdaDecay",
    "LinearWarmup",
    "MultiStepDecay",
    "NoamDecay",
    "PiecewiseDecay",
    "PolynomialDecay",
    "StepDecay",
]


class NoamDecay(LRScheduler):
    """``lr * d_model**-0.5 * min(epoch**-0.5, epoch * warmup_steps**-1.5)`` (Vaswani et al. 2017)."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        positive(self, d_model=d_model)
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        rising = self.warmup_steps**-1.5 * self.last_epoch
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return float(self.base_lr * self.d_model**-0.5 * min(falling, rising))


class PiecewiseDecay(LRScheduler):
    """``values[i]`` before ``boundaries[i]``, the last value after them all."""

    def __init__(self, boundaries: Ints, values: Sequence[float], last_epoch: int = -1, verbose: bool = False) -> None:
        if not boundaries:
            raise ScheduleError("PiecewiseDecay: boundaries must not be empty")
        if len(values) <= len(boundaries):
            raise ScheduleError(f"PiecewiseDecay: {len(boundaries)} boundaries need {len(boundaries) + 1} values")
        self.boundaries, self.values = list(boundaries), list(values)
        super().__init__(values[0], last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        for bound, value in zip(self.boundaries, self.values):
            if self.last_epoch < bound:
                return float(value)
        return float(self.values[len(self.boundaries)])


class _OfGamma(LRScheduler):
    """What schedules with one factor share."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self._check(gamma)
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def _check(self, gamma: float) -> None:
        """Refuse a factor that the schedule does not take."""


class InverseTimeDecay(_OfGamma):
    """``lr / (1 + gamma * epoch)``."""

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From ``lr`` to ``end_lr`` in ``decay_steps`` epochs, as ``(1 - epoch / decay_steps)**power``."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        positive(self, decay_steps=decay_steps, power=power)
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        epoch, steps = float(self.last_epoch), float(self.decay_steps)
        if self.cycle:
            steps *= max(1.0, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return float((self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr)


class LinearWarmup(LRScheduler):
    """From ``start_lr`` to ``end_lr`` in ``warmup_steps`` epochs, then ``learning_rate``, a number or a schedule."""

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, (int, float, LRScheduler)):
            raise ScheduleError(
                f"LinearWarmup: learning_rate is a number or a schedule, got {type(learning_rate).__name__}"
            )
        positive(self, warmup_steps=warmup_steps)
        if end_lr <= start_lr:
            raise ScheduleError(f"LinearWarmup: end_lr {end_lr} must be greater than start_lr {start_lr}")
        self.learning_rate = learning_rate
        self.warmup_steps, self.start_lr, self.end_lr = warmup_steps, start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return float(self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        """Return the state, with that of the schedule that follows."""
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load what ``state_dict()`` returned."""
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])


class ExponentialDecay(_OfGamma):
    """``lr * gamma**epoch``."""

    def _check(self, gamma: float) -> None:
        if not 0 < gamma < 1:
            raise ScheduleError(f"ExponentialDecay: gamma must be between 0 and 1, got {gamma!r}")

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """``lr * gamma**i`` after the i-th milestone."""

    def __init__(
        self, learning_rate: float, milestones: Ints, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(milestones, (list, tuple)):
            raise ScheduleError(f"MultiStepDecay: milestones is a list, got {type(milestones).__name__}")
        if list(milestones) != sorted(set(milestones)):
            raise UsageError(f"MultiStepDecay: milestones must increase, got {milestones}")
        if gamma >= 1:
            raise UsageError(f"MultiStepDecay: gamma must be below 1, got {gamma}")
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        passed = sum(self.last_epoch >= milestone for milestone in self.milestones)
        return float(self.base_lr * self.gamma**passed)


class StepDecay(LRScheduler):
    """``lr * gamma**(epoch // step_size)``."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(step_size, int) or step_size <= 0:
            raise ScheduleError(f"StepDecay: step_size is a positive int, got {step_size!r}")
        if gamma >= 1:
            raise UsageError(f"StepDecay: gamma must be below 1, got {gamma}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """``lr * lr_lambda(epoch)``."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise ScheduleError(f"LambdaDecay: lr_lambda is a function, got {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return self.base_lr * self.lr_lambda(self.last_epoch)


class NaturalExpDecay(_OfGamma):
    """``lr * exp(-gamma * epoch)``."""

    def _check(self, gamma: float) -> None:
        positive(self, gamma=gamma)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class MultiplicativeDecay(LambdaDecay):
    """The last rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate
