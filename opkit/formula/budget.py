"""Budget: the processor's time and the stack that deriving a formula may use.

What a formula may be before anything is computed is not decided here, but in ``opkit.formula.bounds``.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

from opkit.errors import UsageError

#: Seconds of the processor. Ordinary formulas take one or two; algebra of what is nested may take for ever.
MOST_SECONDS = 10.0
#: Seconds after which the end is asked for again, where the first time was lost in a callback.
_AGAIN = 0.05
_HELP = "split it into ops of their own, or write the kernels by hand: opkit new NAME --kind elementwise"


class _Spent(BaseException):
    """The time is over; no ``except Exception`` of an algebra system stops it."""


@contextlib.contextmanager
def within_budget() -> Iterator[None]:
    """Let what is done in a ``with`` block end within the budget.

    In other threads than the first, and on Windows, time has no bound: nothing could interrupt them.

    Raises:
        UsageError: the block took too long, too deep a stack or more memory than there is.
    """
    try:
        with _timed():
            yield
    except _Spent:
        raise UsageError(
            f"deriving the formula takes more than {MOST_SECONDS:g} seconds of the processor", help=_HELP
        ) from None
    except RecursionError:
        raise UsageError("the formula with its parts put in is nested too deep to be derived", help=_HELP) from None
    except MemoryError:
        raise UsageError("deriving the formula takes more memory than there is", help=_HELP) from None


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_running = [True]

    def end(number: int, frame: object) -> None:
        if is_running[0]:
            raise _Spent

    handler = signal.signal(signal.SIGVTALRM, end)
    before = signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS, _AGAIN)
    try:
        try:
            yield
        finally:
            is_running[0] = False
    finally:  # twice: the end may come on the way out, too
        is_running[0] = False
        signal.setitimer(signal.ITIMER_VIRTUAL, *before)
        signal.signal(signal.SIGVTALRM, handler)
