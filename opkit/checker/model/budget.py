"""Budget: the seconds that a stage of a check may take, of the processor or of the clock.

What is left out when it is used up is the stage's business.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time

from opkit.checker.model.thresholds import FEW


class Budget:
    """Seconds from now on.

    They are the processor's, so that others' load changes no verdict; those of the clock for an op whose calls take
    long, since kernels that sleep or wait take none of the processor's.

    Args:
        seconds: of the whole.
        is_slow: calls of the op take long.
    """

    def __init__(self, seconds: float, is_slow: bool = False) -> None:
        self._clock = perf_counter if is_slow else process_time
        self._begun, self._seconds = self._clock(), seconds

    def is_over(self, share: float = 1.0) -> bool:
        """Return whether a share of the seconds is used up."""
        return self._clock() - self._begun > share * self._seconds


class Spent:
    """Seconds spent since it was made: the processor's, so that others' load changes no verdict.

    At least half of the clock's, since functions that sleep or wait take none of the processor's; never more than they.
    """

    def __init__(self) -> None:
        self._clock, self._processor, self._seconds = perf_counter(), process_time(), 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        clock, processor = perf_counter(), process_time()
        passed, worked = clock - self._clock, processor - self._processor
        self._seconds += min(max(worked, passed / 2), passed)
        self._clock, self._processor = clock, processor
        return self._seconds


def takes_longer(seconds: float, call: Callable[[], object]) -> bool:
    """Return whether a call takes longer, each of a few times: the machine may have been busy with others."""
    for _ in range(FEW):
        begun = perf_counter()
        call()
        if perf_counter() - begun <= seconds:
            return False
    return True
