"""The flight recorder: a page of shared memory that says what a worker is doing, readable after its death.

Only numbers are written, so that a call of a user's function costs well under a microsecond more. The inputs of
the fatal call are found again by replaying the worker up to that call (see ``Stop``).
"""

from __future__ import annotations

import math
import mmap
import struct
import time
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Flight", "Phase", "Reading", "Stop"]

#: Phase, calls begun, and since when. Packing clears the bytes before it writes them, so that a reader in another
#: process may see zeros: these are read for certain only after the writer's death.
_PAGE = struct.Struct("<qqd")


class Phase(IntEnum):
    """What a worker is doing; the member's text completes "while it was ..."."""

    text: str

    def __new__(cls, value: int, text: str) -> Phase:
        """Make a member with its text."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member

    STARTING = 0, "starting"
    LOADING = 1, "loading the user's files"
    CHECKING = 2, "checking, between two calls of the user's functions"
    FORWARD = 3, "in the user's forward"
    BACKWARD = 4, "in the user's backward"
    INFER = 5, "in the op's infer function"
    CASES = 6, "drawing the user's cases"
    SUPERVISING = 7, "supervising other workers"


_PHASES = {int(phase): phase for phase in Phase}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recorder held.

    Args:
        phase: the last phase entered.
        calls: how many calls of user functions had begun.
        since: time.monotonic() when the phase was entered.
        deadline: time.monotonic() after which the worker is to be ended; infinity for never.
    """

    phase: Phase
    calls: int
    since: float
    deadline: float


class Stop(BaseException):
    """Raised in a replayed worker in place of the call whose inputs are wanted."""


class Flight:
    """A worker's recorder; make it before the fork, write it in the worker, read it in the supervisor.

    Args:
        stop_at: raise ``Stop`` in place of this call (1-based); 0 for never.
    """

    def __init__(self, stop_at: int = 0) -> None:
        self._memory = mmap.mmap(-1, _PAGE.size + 8)
        # One aligned store of eight bytes, which no reader sees half done: a living worker is judged by it.
        self._deadline = memoryview(self._memory)[_PAGE.size :].cast("d")
        self._deadline[0] = math.inf
        self._stop_at = stop_at
        self._calls = 0
        self.enter(Phase.STARTING)

    def enter(self, phase: Phase) -> None:
        """Say that a phase begins."""
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic())

    def call(self, phase: Phase) -> None:
        """Say that a call of a user's function begins.

        Raises:
            Stop: it is the call to stop at.
        """
        self._calls += 1
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic())
        if self._calls == self._stop_at:
            raise Stop

    def arm(self, seconds: float) -> None:
        """Ask to be ended that many seconds from now; infinity for never."""
        self._deadline[0] = time.monotonic() + seconds
        self.enter(self.read().phase)

    def read(self) -> Reading:
        """Return what the recorder holds."""
        phase, calls, since = _PAGE.unpack_from(self._memory, 0)
        return Reading(_PHASES[phase], calls, since, self._deadline[0])

    def close(self) -> None:
        """Give the memory back."""
        self._deadline.release()
        self._memory.close()
