"""The flight recorder: a page of shared memory that says what a worker is doing, readable after its death.

Only numbers are written, so that a call of a user's function costs well under a microsecond more. The inputs of
the fatal call are found again by replaying the worker up to that call (see ``FlightStop``).
"""

from __future__ import annotations

import math
import mmap
import struct
import time
from enum import IntEnum
from typing import ClassVar

from opkit.record import record

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


@record
class FlightReading:
    """What the recorder held.

    Args:
        phase: the last phase entered.
        calls: how many calls of user functions had begun.
        since: time.monotonic() when the phase was entered.
        deadline: time.monotonic() after which the worker is to be ended; infinity for never.
        ceiling: bytes of memory above which the worker is to be ended; infinity for no limit.
    """

    phase: Phase
    calls: int
    since: float
    deadline: float
    ceiling: float = math.inf


class FlightStop(BaseException):
    """Raised in a replayed worker in place of the call whose inputs are wanted."""


class Flight:
    """A worker's recorder; make it before the fork, write it in the worker, read it in the supervisor.

    Args:
        stop_at: raise ``FlightStop`` in place of this call (1-based); 0 for never.
        descriptor: of a file of ``SIZE`` bytes by which another interpreter shares the recorder; -1 for memory that
            forked copies share.
    """

    SIZE: ClassVar[int] = _PAGE.size + 16

    def __init__(self, stop_at: int = 0, descriptor: int = -1) -> None:
        self._memory = mmap.mmap(descriptor, self.SIZE)
        # Aligned stores of eight bytes, which no reader sees half done: a living worker is judged by them.
        self._limits = memoryview(self._memory)[_PAGE.size :].cast("d")
        self._limits[0] = self._limits[1] = math.inf
        self._stop_at = stop_at
        self._calls = 0
        self.enter(Phase.STARTING)

    def enter(self, phase: Phase) -> None:
        """Say that a phase begins."""
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic())

    def call(self, phase: Phase) -> None:
        """Say that a call of a user's function begins.

        Raises:
            FlightStop: it is the call to stop at.
        """
        self._calls += 1
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic())
        if self._calls == self._stop_at:
            raise FlightStop

    def arm(self, seconds: float) -> None:
        """Ask to be ended that many seconds from now; infinity for never."""
        self._limits[0] = time.monotonic() + seconds
        self.enter(self.read().phase)

    def allow(self, memory: float) -> None:
        """Ask to be ended where the process holds more bytes of memory than these; infinity for no limit."""
        self._limits[1] = memory

    def restart(self) -> None:
        """Count calls from 0 again: the next op begins."""
        self._calls = 0

    def read(self) -> FlightReading:
        """Return what the recorder holds."""
        phase, calls, since = _PAGE.unpack_from(self._memory, 0)
        return FlightReading(_PHASES[phase], calls, since, *self._limits)

    def close(self) -> None:
        """Give the memory back."""
        self._limits.release()
        self._memory.close()
