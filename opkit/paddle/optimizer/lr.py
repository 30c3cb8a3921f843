"""``paddle.optimizer.lr``: schedules of the learning rate.

A scheduler's rate is a number that ``step()`` moves on; each kind says in ``get_lr`` what it is at an epoch.

Source: Paddle 2.6, paddle.optimizer.lr.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.missing import guard

__all__ = [
    "CosineAnnealingDecay",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearLR",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
]


class ScheduleError(UsageError, TypeError, AssertionError):
    """A schedule got an argument of a wrong type or value."""


class LRScheduler:
    """Base of all schedules.

    Args:
        learning_rate: the rate at the start.
        last_epoch: the epoch to go on from; -1 for a start.
        verbose: kept; opkit prints nothing.
    """

    keys: tuple[str, ...] = ("last_epoch", "last_lr")

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise ScheduleError(f"{type(self).__name__}: learning_rate is a number, got {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise UsageError(f"{type(self).__name__}: learning_rate must not be negative, got {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """Return the rate in force."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Move on to the next epoch, or to a given one."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
            return
        self.last_epoch = epoch
        closed_form = getattr(self, "_get_closed_form_lr", None)
        self.last_lr = self.get_lr() if closed_form is None else closed_form()

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr")

    def state_keys(self) -> None:
        """Choose what is part of the state, by setting ``self.keys``; subclasses may define it."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a dict of plain numbers."""
        self.state_keys()
        return {key: self.__dict__[key] for key in self.keys if key in self.__dict__}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load what ``state_dict()`` returned.

        Raises:
            UsageError: a part of the state is missing.
        """
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise UsageError(f"{type(self).__name__}: the state has no {key!r}")
            self.__dict__[key] = state_dict[key]

    set_dict = set_state_dict


def _positive(owner: object, **values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
            raise ScheduleError(f"{type(owner).__name__}: {name} must be a positive number, got {value!r}")


class NoamDecay(LRScheduler):
    """``lr * d_model**-0.5 * min(epoch**-0.5, epoch * warmup_steps**-1.5)`` (Vaswani et al. 2017)."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _positive(self, d_model=d_model)
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        rising = self.warmup_steps**-1.5 * self.last_epoch
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return float(self.base_lr * self.d_model**-0.5 * min(falling, rising))


class PiecewiseDecay(LRScheduler):
    """``values[i]`` before ``boundaries[i]``, the last value after them all."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
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


class NaturalExpDecay(LRScheduler):
    """``lr * exp(-gamma * epoch)``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _positive(self, gamma=gamma)
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """``lr / (1 + gamma * epoch)``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

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
        _positive(self, decay_steps=decay_steps, power=power)
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
        _positive(self, warmup_steps=warmup_steps)
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


class ExponentialDecay(LRScheduler):
    """``lr * gamma**epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        if not 0 < gamma < 1:
            raise ScheduleError(f"ExponentialDecay: gamma must be between 0 and 1, got {gamma!r}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """``lr * gamma**i`` after the i-th milestone."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
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


class MultiplicativeDecay(LambdaDecay):
    """The last rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate


class ReduceOnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not got better for more than ``patience`` epochs."""

    keys = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if mode.lower() not in ("min", "max"):
            raise UsageError(f"ReduceOnPlateau: mode is 'min' or 'max', got {mode!r}")
        if threshold_mode.lower() not in ("rel", "abs"):
            raise UsageError(f"ReduceOnPlateau: threshold_mode is 'rel' or 'abs', got {threshold_mode!r}")
        if factor >= 1:
            raise UsageError(f"ReduceOnPlateau: factor must be below 1, got {factor}")
        if not isinstance(learning_rate, (int, float)):
            raise ScheduleError(f"ReduceOnPlateau: learning_rate is a number, got {type(learning_rate).__name__}")
        self.mode, self.factor, self.patience = mode.lower(), factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode.lower()
        self.cooldown, self.min_lr, self.epsilon, self.verbose = cooldown, min_lr, epsilon, verbose
        self.cooldown_counter = 0
        self.best: float | None = None
        self.num_bad_epochs = 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Judge the metric of the epoch that has ended, a number or a Tensor of one element."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        value = float(np.asarray(metrics).reshape(-1)[0])
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lowered = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - lowered > self.epsilon:
                self.last_lr = lowered

    def _is_better(self, current: float, best: float) -> bool:
        if self.mode == "min":
            return current < (best - best * self.threshold if self.threshold_mode == "rel" else best - self.threshold)
        return current > (best + best * self.threshold if self.threshold_mode == "rel" else best + self.threshold)


class CosineAnnealingDecay(LRScheduler):
    """From ``lr`` to ``eta_min`` and back as a cosine, in ``T_max`` epochs each way (Loshchilov and Hutter 2017)."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _positive(self, T_max=T_max)
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            gap = self.base_lr - self.eta_min
            return self.last_lr + gap * (1 - math.cos(math.pi / self.T_max)) / 2
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return now / before * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self) -> float:
        turn = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * turn / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from ``lr`` to ``eta_min`` in ``T_0`` epochs, then again in ``T_mult`` times as many, and so on."""

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int) or T_mult < 1 or not isinstance(T_mult, int):
            raise UsageError(f"CosineAnnealingWarmRestarts: T_0 and T_mult are positive ints, got {T_0!r}, {T_mult!r}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        length, within = self.T_0, self.last_epoch
        while within >= length:
            within -= length
            length *= self.T_mult
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * within / length)) / 2


class LinearLR(LRScheduler):
    """From ``lr * start_factor`` to ``lr * end_factor`` in ``total_steps`` epochs."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise UsageError(f"LinearLR: start_factor must be above 0 and at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise UsageError(f"LinearLR: end_factor must be between 0 and 1, got {end_factor}")
        if total_steps <= 0:
            raise UsageError(f"LinearLR: total_steps must be positive, got {total_steps}")
        self.start_factor, self.end_factor, self.total_steps = start_factor, end_factor, total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        part = min(self.last_epoch, self.total_steps) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)


class OneCycleLR(LRScheduler):
    """Up to ``max_learning_rate`` and down again, once in ``total_steps`` (Smith and Topin 2018)."""

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _positive(self, max_learning_rate=max_learning_rate, total_steps=total_steps)
        if anneal_strategy not in ("cos", "linear"):
            raise UsageError(f"OneCycleLR: anneal_strategy is 'cos' or 'linear', got {anneal_strategy!r}")
        if not 0 <= phase_pct <= 1 or (three_phase and phase_pct >= 0.5):
            raise UsageError(f"OneCycleLR: phase_pct does not fit, got {phase_pct}")
        first = max_learning_rate / float(divide_factor)
        last = float(end_learning_rate)
        if three_phase:
            ends = [0, phase_pct * total_steps - 1, 2 * phase_pct * total_steps - 2, total_steps - 1, total_steps - 1]
            self._rates = [first, max_learning_rate, first, last]
        else:
            ends = [0, phase_pct * total_steps - 1, total_steps - 1, total_steps - 1]
            self._rates = [first, max_learning_rate, last]
        self._ends = ends
        self._count = len(self._rates) - 1
        self._linear = anneal_strategy == "linear"
        self.total_steps = total_steps
        super().__init__(first, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``.

        Raises:
            UsageError: the cycle is over.
        """
        now = self.last_epoch
        if now > self.total_steps:
            raise UsageError(f"OneCycleLR: step {now} lies after the last of {self.total_steps} steps")
        for i in range(self._count):
            if now <= self._ends[i + 1] or i == self._count - 1:
                part = (now - self._ends[i]) / (self._ends[i + 1] - self._ends[i])
                low, high = self._rates[i], self._rates[i + 1]
                if self._linear:
                    return (high - low) * part + low
                return high + (low - high) / 2.0 * (math.cos(math.pi * part) + 1)
        raise UsageError("OneCycleLR has no phases")


class CyclicLR(LRScheduler):
    """Between ``base_learning_rate`` and ``max_learning_rate``, up and down (Smith 2015)."""

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise UsageError(f"CyclicLR: mode is 'triangular', 'triangular2' or 'exp_range', got {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise UsageError(f"CyclicLR: scale_mode is 'cycle' or 'iterations', got {scale_mode!r}")
        _positive(self, max_learning_rate=max_learning_rate, step_size_up=step_size_up)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.cycle_size, self.step_up_pct = up + down, up / (up + down)
        self.amplitude = float(max_learning_rate) - base_learning_rate
        scales: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / (2.0 ** (x - 1)), "cycle"),
            "exp_range": (lambda x: exp_gamma**x, "iterations"),
        }
        self._scale, self._scale_mode = (scale_fn, scale_mode) if scale_fn is not None else scales[mode]
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Return the rate at ``last_epoch``."""
        now = self.last_epoch
        cycle = 1 + now // self.cycle_size
        place = now / self.cycle_size - cycle + 1
        height = place / self.step_up_pct if place <= self.step_up_pct else (1 - place) / (1 - self.step_up_pct)
        return self.base_lr + self.amplitude * height * self._scale(cycle if self._scale_mode == "cycle" else now)


__getattr__ = guard(__name__, globals())
