"""Clocks: what Python's clocks show in this process, which may be made to show a later time.

Clocks of the operating system are left alone.
"""

from __future__ import annotations

import datetime
import importlib._bootstrap as importing
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

_CLOCKS = ("monotonic", "perf_counter", "process_time", "thread_time", "time")
#: A year and some days, hours, minutes and seconds: no unit of time stays as it was.
_STEP = datetime.timedelta(days=400, hours=5, minutes=7, seconds=11.3)
#: How much time has passed beyond that of the system.
_passed = datetime.timedelta()


def pass_time() -> None:
    """Let all clocks show a much later time."""
    global _passed
    _passed += _STEP


def make_movable() -> None:
    """Let what is loaded from here on read clocks that can be moved."""
    for name in _CLOCKS:
        setattr(time, name, _moved(getattr(time, name), 1))
        setattr(time, f"{name}_ns", _moved(getattr(time, f"{name}_ns"), 10**9))
    datetime.datetime, datetime.date = _Moment, _Day  # type: ignore[misc]
    datetime.__class__ = _Dates


def _moved(clock: Callable[[], Any], unit: int) -> Callable[[], Any]:
    return lambda: clock() + int(_passed.total_seconds() * unit)


class _Day(datetime.date):
    @classmethod
    def today(cls) -> Any:
        return super().today() + _passed


class _Moment(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return super().now(tz) + _passed

    @classmethod
    def today(cls) -> Any:
        return super().today() + _passed

    @classmethod
    def utcnow(cls) -> Any:
        return super().utcnow() + _passed


class _Dates(ModuleType):
    """The module of dates, in which compiled modules, built for the layout of its own classes, find those."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        is_compiled = sys._getframe(1).f_globals is vars(importing)  # no other code runs while one is loaded
        return found.__base__ if is_compiled and found in (_Day, _Moment) else found
