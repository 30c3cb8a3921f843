"""Schedules of an optimizer's learning rate (``oneflow.experimental.optim.lr_scheduler``, v0.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow.experimental.optim.optimizers import Optimizer
from opkit.shim.missing import guard

__all__ = ["CosineScheduler", "LambdaLR", "LrScheduler", "StepLR"]


class LrScheduler:
    """Base of the schedules.

    Args:
        optimizer: whose learning rates change with each ``step()``.
        last_step: -1 to begin.
        verbose: print each rate.
    """

    def __init__(self, optimizer: Optimizer, last_step: int = -1, verbose: bool = False) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a schedule takes an optimizer, got {type(optimizer).__name__}")
        self._optimizer = optimizer
        if last_step == -1:
            for group in optimizer.param_groups:
                group.options["initial_lr"] = group.options["lr"]
        elif any("initial_lr" not in group.options for group in optimizer.param_groups):
            raise UsageError(f"{type(self).__name__}: last_step {last_step} needs groups with initial_lr to go on from")
        self.base_lrs: list[float] = [group.options["initial_lr"] for group in optimizer.param_groups]
        self.last_lr: list[float] = []
        self.last_step, self.verbose = last_step, verbose
        self.step()

    def get_lr(self) -> list[float]:
        """Return the rates of the present step; a subclass says which."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """Return the rates that the last ``step()`` set."""
        return self.last_lr

    def step(self) -> None:
        """Go one step on and set the rates."""
        self.last_step += 1
        self.last_lr = list(self.get_lr())
        for index, (group, rate) in enumerate(zip(self._optimizer.param_groups, self.last_lr)):
            group.options["lr"] = rate
            if self.verbose:
                print(f"Adjusting learning rate of param_groups[{index}] to {rate}")  # noqa: T201 - asked for

    def state_dict(self) -> dict[str, Any]:
        """Return what the schedule keeps."""
        return {name: value for name, value in self.__dict__.items() if name != "_optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what ``state_dict`` returned."""
        self.__dict__.update(state_dict)


class StepLR(LrScheduler):
    """The rate multiplied by ``gamma`` every ``step_size`` steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_step: int = -1, verbose: bool = False
    ) -> None:
        if step_size <= 0 or gamma <= 0:
            raise UsageError(f"StepLR: step_size and gamma are above 0, got {step_size} and {gamma}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self) -> list[float]:
        """Return the rates of the present step."""
        return [base * self.gamma ** (self.last_step // self.step_size) for base in self.base_lrs]


class LambdaLR(LrScheduler):
    """The rate multiplied by what a function, or one per group, says of the step."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise UsageError(f"LambdaLR takes one function, or {count} for {count} groups, got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_step, verbose)

    def state_dict(self) -> dict[str, Any]:
        """Return what the schedule keeps but its functions."""
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}

    def get_lr(self) -> list[float]:
        """Return the rates of the present step."""
        return [base * factor(self.last_step) for base, factor in zip(self.base_lrs, self.lr_lambdas)]


class CosineScheduler(LrScheduler):
    """The rate along half a cosine to ``alpha`` times itself, in ``steps`` steps."""

    def __init__(
        self, optimizer: Optimizer, steps: int, alpha: float = 0.0, last_step: int = -1, verbose: bool = False
    ) -> None:
        if steps <= 0 or alpha < 0:
            raise UsageError(f"CosineScheduler: steps are above 0 and alpha not below, got {steps} and {alpha}")
        self.steps, self.alpha = steps, alpha
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self) -> list[float]:
        """Return the rates of the present step."""
        share = self.alpha
        if self.last_step < self.steps:
            share += (1 - self.alpha) * 0.5 * (1 + math.cos(math.pi * self.last_step / self.steps))
        return [base * share for base in self.base_lrs]


__getattr__ = guard(globals())
