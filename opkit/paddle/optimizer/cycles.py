"""Schedules that go up and down, and the one that watches a metric.

Source: Paddle 2.6, paddle.optimizer.lr.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.optimizer.scheduler import LRScheduler, ScheduleError, positive

__all__ = ["CosineAnnealingDecay", "CyclicLR", "OneCycleLR", "ReduceOnPlateau"]


class CosineAnnealingDecay(LRScheduler):
    """From ``lr`` to ``eta_min`` and back as a cosine, in ``T_max`` epochs each way (Loshchilov and Hutter 2017)."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        positive(self, T_max=T_max)
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
        positive(self, max_learning_rate=max_learning_rate, total_steps=total_steps)
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
        positive(self, max_learning_rate=max_learning_rate, step_size_up=step_size_up)
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


class ReduceOnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not improved for more than ``patience`` epochs."""

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
