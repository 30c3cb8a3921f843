"""Observers: functions that are notified of every op that runs, any number of them at once.

Profiles, recorders and NaN checks are observers; they decide what to do with what they get. Where
none is on, hot code pays one attribute test: ``if mode.observers``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opkit.ops.core.mode import Mode, local, lock
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Values

#: ``observer(opdef, inputs, attrs, outputs, seconds)`` is notified of every op that ran: arrays in, arrays out.
Observer = Callable[[OpDef, Values, Attrs, Values, float], None]
#: ``observer(opdef, douts, grads)`` is notified of every op that dynamic mode's reverse walk differentiated: the
#: cotangents of its outputs and those of its inputs, None where there is none.
GradientObserver = Callable[[OpDef, Values, Values], None]
#: ``observer(opdef, error)`` is notified of every user op whose function raised.
ErrorObserver = Callable[[OpDef, Exception], None]


class Observing:
    """One active observer; ``remove()`` or the end of a ``with`` block removes it, in any order with others.

    Made by ``observe``.
    """

    __slots__ = ("_mode", "on_error", "on_gradient", "on_op")

    def __init__(
        self,
        on_op: Observer,
        on_gradient: GradientObserver | None,
        mode: Mode | None,
        on_error: ErrorObserver | None = None,
    ) -> None:
        self.on_op = on_op
        self.on_gradient = on_gradient
        self.on_error = on_error
        self._mode = mode

    def remove(self) -> None:
        """Remove the observer; a second call has no effect."""
        with lock:
            for mode in _modes_of(self._mode):
                mode.observers = tuple(item for item in mode.observers if item is not self)
            if self._mode is None:
                Mode.observers_everywhere = tuple(item for item in Mode.observers_everywhere if item is not self)

    def __enter__(self) -> Observing:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def observe(
    on_op: Observer,
    on_gradient: GradientObserver | None = None,
    *,
    everywhere: bool = False,
    on_error: ErrorObserver | None = None,
) -> Observing:
    """Notify a function of every op that runs from now on, besides those that are already notified.

    Args:
        on_op: see ``Observer``.
        on_gradient: see ``GradientObserver``.
        everywhere: in all threads, including later ones; otherwise in this thread only.
        on_error: see ``ErrorObserver``.

    Returns:
        the observer's handle: its ``remove()``, or the end of a ``with`` block, removes it.

    Example:
        >>> double = OpDef("double", (), (), kernel=lambda x: 2 * x)
        >>> with observe(lambda opdef, inputs, attrs, outputs, seconds: print(opdef.name, inputs, outputs)):
        ...     run_kernel(double, (3,), {})
        double (3,) (6,)
        6
    """
    added = Observing(on_op, on_gradient, None if everywhere else local.mode, on_error)
    with lock:
        if everywhere:
            Mode.observers_everywhere = (*Mode.observers_everywhere, added)
        for mode in _modes_of(added._mode):
            mode.observers = (*mode.observers, added)
    return added


def _modes_of(mode: Mode | None) -> list[Mode]:
    """Return one thread's Mode, or those of all threads."""
    return Mode.all() if mode is None else [mode]


@contextmanager
def observing() -> Iterator[None]:
    """Remove at the end of a ``with`` block the observers that were added in it (for example by a script)."""
    with lock:
        before = set(map(id, (*local.mode.observers, *Mode.observers_everywhere)))
    try:
        yield
    finally:
        for item in (*local.mode.observers, *Mode.observers_everywhere):
            if id(item) not in before:
                item.remove()


def notify(
    observers: Sequence[Observing], opdef: OpDef, inputs: Values, attrs: Attrs, outputs: Values, seconds: float
) -> None:
    """Notify all observers of an op that ran.

    Raises:
        Exception: the first that an observer raised; the others are still notified.
    """
    failure: Exception | None = None
    for item in observers:
        try:
            item.on_op(opdef, inputs, attrs, outputs, seconds)
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure


def notify_gradient(observers: Sequence[Observing], opdef: OpDef, douts: Values, grads: Values) -> None:
    """Notify all observers of an op that was differentiated; see ``notify``."""
    failure: Exception | None = None
    for item in observers:
        if item.on_gradient is not None:
            try:
                item.on_gradient(opdef, douts, grads)
            except Exception as error:
                failure = failure or error
    if failure is not None:
        raise failure


def notify_error(observers: Sequence[Observing], opdef: OpDef, error: Exception) -> None:
    """Notify all observers of a user op whose function raised."""
    for item in observers:
        if item.on_error is not None:
            item.on_error(opdef, error)


def run_kernel(opdef: OpDef, arrays: Values, attrs: Attrs) -> Any:
    """Run an op's kernel on arrays, recording nothing; observers are notified.

    Returns:
        what the kernel returns: an array, or a tuple of arrays.
    """
    observers = local.mode.observers
    if not observers:
        return opdef.kernel(*arrays, **attrs)
    start = time.perf_counter()
    result = opdef.kernel(*arrays, **attrs)
    seconds = time.perf_counter() - start
    notify(observers, opdef, arrays, attrs, result if type(result) is tuple else (result,), seconds)
    return result
