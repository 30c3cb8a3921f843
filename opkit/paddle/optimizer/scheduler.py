"""LRScheduler: what all schedules of the learning rate share.

Source: Paddle 2.6, paddle.optimizer.lr.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import UsageError

__all__ = ["LRScheduler", "ScheduleError", "positive"]


class ScheduleError(UsageError, TypeError, AssertionError):
    """A schedule got an argument of a wrong type or value."""


class LRScheduler:
    """Base of all schedules.

    Args:
        learning_rate: the rate at the start.
        last_epoch: the epoch to go on from; -1 for a start.
        verbose: print the rate at every step.
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
        else:
            self.last_epoch = epoch
            closed_form = getattr(self, "_get_closed_form_lr", None)
            self.last_lr = self.get_lr() if closed_form is None else closed_form()
        self.report()

    def report(self) -> None:
        """Print the rate in force, if ``verbose`` asks for it."""
        if self.verbose:
            what = f"{type(self).__name__} set learning rate to {self.last_lr}."
            print(f"Epoch {self.last_epoch}: {what}")  # noqa: T201 - what a script asks for

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


def positive(owner: object, **values: Any) -> None:
    """Refuse arguments of a schedule that are not positive numbers."""
    for name, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
            raise ScheduleError(f"{type(owner).__name__}: {name} must be a positive number, got {value!r}")
