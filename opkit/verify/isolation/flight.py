"""The flight recorder: a page of shared memory that says what a worker is doing, readable after its death.

Only numbers are written, so that a call of a user's function costs well under a microsecond more. The inputs of
the fatal call are found again by replaying the worker up to that call (see ``FlightStop``).
"""

from __future__ import annotations

import math
import mmap
import struct
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from opkit.record import record

if TYPE_CHECKING:
    from opkit.checker import CheckResult

#: Phase, calls like the latest one begun, since when, and the latest one's mark. Packing clears the bytes before it
#: writes them, so that a reader in another process may see zeros: these are read for certain only after the writer's
#: death.
_PAGE = struct.Struct("<qqdq")


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
    CASES = 5, "drawing the user's cases"
    SUPERVISING = 6, "supervising other workers"


#: Seconds of an op whose time is over.
_LEAST = 1e-3

_PHASES = {int(phase): phase for phase in Phase}


@record
class FlightReading:
    """What the recorder held.

    Args:
        phase: the last phase entered.
        calls: how many calls of user functions like the latest one, of its phase and mark, had begun.
        since: time.monotonic() when the phase was entered.
        mark: of the latest call; another call has another one as a rule.
        deadline: time.monotonic() after which the worker is to be ended; infinity for never.
        ceiling: bytes of memory above which the worker is to be ended; infinity for no limit.
    """

    phase: Phase
    calls: int
    since: float
    mark: int
    deadline: float
    ceiling: float = math.inf


@record
class Stop:
    """A call that ended an earlier process, and is not made again.

    Args:
        number: of the call, from 1, among those of this phase and mark: how many others came before depends on time.
        phase: what it was.
        mark: its mark.
        finding: how the process ended, without its case; None where the inputs of the call are all that is wanted.
    """

    number: int
    phase: Phase
    mark: int
    finding: CheckResult | None = None


class FlightStop(BaseException):
    """Raised in a replayed worker in place of a call that ended an earlier one."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.number)
        self.stop = stop


class Flight:
    """A worker's recorder; make it before the fork, write it in the worker, read it in the supervisor.

    Args:
        descriptor: of a file of ``SIZE`` bytes by which another interpreter shares the recorder; -1 for memory that
            forked copies share.

    Attributes:
        seen: phase, inputs, options, incoming gradients and place of the latest call that this process made.
    """

    SIZE: ClassVar[int] = _PAGE.size + 16
    #: That of this process, None where no other process would read it.
    here: ClassVar[Flight | None] = None

    def __init__(self, descriptor: int = -1) -> None:
        self._memory = mmap.mmap(descriptor, self.SIZE)
        # Aligned stores of eight bytes, which no reader sees half done: a living worker is judged by them.
        self._limits = memoryview(self._memory)[_PAGE.size :].cast("d")
        self._limits[0] = self._limits[1] = math.inf
        self._stops: dict[tuple[Phase, int, int], Stop] = {}
        self._counts: dict[tuple[Phase, int], int] = {}
        self._calls = self._mark = 0
        self.seen: tuple[Phase, Any, Any, Any, Any] = (Phase.STARTING, {}, {}, (), None)
        self.enter(Phase.STARTING)

    def enter(self, phase: Phase) -> None:
        """Say that a phase begins."""
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic(), self._mark)

    def call(self, phase: Phase, mark: int = 0) -> None:
        """Say that a call of a user's function begins.

        Args:
            phase: what it is.
            mark: something of it that a repeated check finds again, such as the size of an argument.

        Raises:
            FlightStop: it is a call to stop at.
        """
        kind = phase, mark
        self._calls = self._counts[kind] = self._counts.get(kind, 0) + 1
        self._mark = mark
        _PAGE.pack_into(self._memory, 0, phase, self._calls, time.monotonic(), mark)
        stop = self._stops.pop((phase, mark, self._calls), None) if self._stops else None
        if stop is not None:
            raise FlightStop(stop)

    def arm(self, seconds: float) -> None:
        """Ask to be ended that many seconds from now; infinity for never."""
        self._limits[0] = time.monotonic() + seconds
        self.enter(self.read().phase)

    def left(self) -> float:
        """Return the seconds until this process is to be ended."""
        return max(self._limits[0] - time.monotonic(), _LEAST)

    def allow(self, memory: float) -> None:
        """Ask to be ended where the process holds more bytes of memory than these; infinity for no limit."""
        self._limits[1] = memory

    def restart(self, stops: Sequence[Stop] = ()) -> None:
        """Count calls from 0 again: the next op begins, in which ``FlightStop`` is raised in place of some calls."""
        self._calls = 0
        self._counts.clear()
        self._stops = {(stop.phase, stop.mark, stop.number): stop for stop in stops}

    @property
    def is_unmet(self) -> bool:
        """Whether a call to stop at has not come: what was found says nothing then."""
        return bool(self._stops)

    def read(self) -> FlightReading:
        """Return what the recorder holds."""
        phase, calls, since, mark = _PAGE.unpack_from(self._memory, 0)
        return FlightReading(_PHASES[phase], calls, since, mark, *self._limits)

    def close(self) -> None:
        """Give the memory back."""
        self._limits.release()
        self._memory.close()
