"""SIGTERM and Ctrl-C: where they are raised, and how something is finished before they are.

What a run does when it is ended is decided where it runs.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Terminated(KeyboardInterrupt):
    """The process is to end: raised where SIGTERM comes, and dealt with as Ctrl-C is."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise ``Terminated`` where SIGTERM comes; in another thread than the first nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let what is done in a ``with`` block come to its end: a signal is raised afterwards, a second one at once.

    The second one is for output that nobody reads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        came.append(number)
        if len(came) > 1:
            _raise(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        _raise(came[0])


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _raise(number: int) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
