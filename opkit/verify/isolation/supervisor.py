"""Supervisor: runs jobs in children, a limited number at a time, and outlives whatever they do.

It knows time, memory and death, not ops: what a child sends is passed on unread.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import IO, Any

from opkit.blind.frames import rebuilt
from opkit.blind.limits import memory_kills, memory_resident
from opkit.collection import Freezing
from opkit.record import record
from opkit.verify.isolation.child import GOOD, Child, FreshCall, Task, begin
from opkit.verify.isolation.descent import adopt_orphans, children_here, end_descent, end_orphans, is_stopped
from opkit.verify.isolation.flight import FlightReading

_TAIL = 4000
_HEAD = 64_000
#: Longest wait for a message, and the same where no descriptor tells of a child's end.
_PATIENCE, _POLL = 0.5, 0.02
#: How often the memory of a child is looked at that has a limit by what it holds.
_GLANCE = 0.02
#: How long a child that is to be ended gets at most to write its stack; one that fills the memory gets less.
_GRACE, _SHORT_GRACE = 0.4, 0.02


def can_fork() -> bool:
    """Return whether this platform can isolate ops by forking."""
    return hasattr(os, "fork") and sys.platform != "win32"


class Death(Enum):
    """How a child ended; the value completes "the worker ..."."""

    DONE = "finished"
    EXITED = "ended its process in the middle of the check"
    KILLED = "was killed by a signal"
    TIMEOUT = "did not finish within the time limit"
    GARBLED = "wrote to a descriptor that belongs to opkit"
    SWOLLEN = "held more memory than it may"


@record
class Ended:
    """The end of a child.

    Args:
        death: how.
        status: exit status, or the signal's number for KILLED.
        flight: what it was doing.
        trace: Python's stack at the crash or the timeout, "" where there is none.
        output: the end of what it printed.
        seconds: wall-clock time it took.
        is_starved: the system ended a process for lack of memory meanwhile.
    """

    death: Death
    status: int
    flight: FlightReading
    trace: str
    output: str
    seconds: float
    is_starved: bool = False

    @property
    def signal(self) -> str:
        """The name of the signal that killed it."""
        try:
            return signal.Signals(self.status).name
        except ValueError:
            return f"signal {self.status}"


class Supervisor:
    """Runs jobs, at most ``width`` at a time.

    Args:
        width: how many children at once.
        lifeline: a descriptor that becomes readable when the supervisor itself is to stop, or None.
        private: descriptors of the supervisor's own that no child may keep open.
        adopts: this process serves the supervisor alone: whatever loses its parent beneath it is ended.
    """

    def __init__(
        self, width: int, lifeline: int | None = None, private: Sequence[int] = (), adopts: bool = False
    ) -> None:
        self._width = max(width, 1)
        self._lifeline = lifeline
        self._private = tuple(private)
        self._children: dict[int, Child] = {}
        self._waiting: deque[Task] = deque()
        self._adopts = adopts and adopt_orphans()
        self._strangers = children_here() if self._adopts else frozenset()

    def add(self, job: Task) -> None:
        """Run one more job, after those that wait; while ``run`` is gone through."""
        self._waiting.append(job)

    def begin(self, jobs: Iterable[Task]) -> None:
        """Start as many jobs as run at once, ahead of ``run``, which the others wait for."""
        self._waiting.extend(jobs)
        self._fill()

    def run(self, jobs: Iterable[Task] = ()) -> Iterator[tuple[Any, Any]]:
        """Run the jobs; yield (key, message) for each message and (key, Ended) last.

        The order of the messages of different jobs is that of their arrival. A job is over when its child has
        ended, whoever may still hold its pipe. Leaving the iterator early ends the children.
        """
        self._waiting.extend(jobs)
        freezing = Freezing()
        with selectors.DefaultSelector() as selector:
            if self._lifeline is not None:
                selector.register(self._lifeline, selectors.EVENT_READ, None)
            for child in self._children.values():
                _listen(child, selector)
            try:
                while self._waiting or self._children:
                    for child in self._fill(freezing):
                        _listen(child, selector)
                    events = [key.data for key, _ in selector.select(self._patience())]
                    if None in events:
                        return
                    for child in dict.fromkeys(events):
                        yield from self._attend(child, selector)
                    yield from self._look_after(selector)
            finally:
                for child in list(self._children.values()):
                    self._kill(child)
                    self._bury(child)
                freezing.end()

    def _fill(self, freezing: Freezing | None = None) -> list[Child]:
        """Start jobs that wait while there is room; return their children."""
        started = []
        while self._waiting and len(self._children) < self._width:
            job = self._waiting.popleft()
            if freezing is not None and not isinstance(job.run, FreshCall):
                freezing.freeze()  # so that the collector does not touch, and so copy, memory that the child shares
            others = [item for child in self._children.values() for item in child.descriptors]
            child = begin(job, [*self._private, *others])
            self._children[child.pid] = child
            started.append(child)
        return started

    def _patience(self) -> float:
        """Return how long to wait for the next message: until the earliest deadline, half a second at most."""
        readings = [child.flight.read() for child in self._children.values()]
        earliest = min(reading.deadline for reading in readings) - time.monotonic()
        longest = _PATIENCE if all(child.death is not None for child in self._children.values()) else _POLL
        if any(reading.ceiling < math.inf for reading in readings):
            longest = min(longest, _GLANCE)
        return min(max(earliest, 0.01), longest)

    def _attend(self, child: Child, selector: selectors.BaseSelector) -> Iterator[tuple[Any, Any]]:
        """Read what a child has sent; bury it if it has ended."""
        is_over = _has_ended(child)  # asked before the reading: what it sent before its end is in the pipe
        yield from self._read(child, selector)
        if is_over:
            for descriptor in child.descriptors:
                with contextlib.suppress(KeyError):
                    selector.unregister(descriptor)
            yield child.task.key, self._bury(child)

    def _read(self, child: Child, selector: selectors.BaseSelector) -> Iterator[tuple[Any, Any]]:
        while not child.is_garbled:
            try:
                data = os.read(child.pipe, 1 << 20)
            except BlockingIOError:
                return
            if not data:  # closed, by the child's end or by its code: only the end counts
                with contextlib.suppress(KeyError):
                    selector.unregister(child.pipe)
                return
            try:
                for body in child.reader.feed(data):
                    yield child.task.key, rebuilt(body)
            except ValueError:
                child.is_garbled = True
                self._kill(child)

    def _look_after(self, selector: selectors.BaseSelector) -> Iterator[tuple[Any, Any]]:
        """End the children whose time is over, and find those that ended where no descriptor tells of it."""
        now = time.monotonic()
        for child in list(self._children.values()):
            reading = child.flight.read()
            is_doomed = child.is_late or child.is_swollen
            if not is_doomed and now > reading.deadline:
                child.is_late = True
                self._end(child, _GRACE)
            elif not is_doomed and memory_resident(child.pid, reading.ceiling) > reading.ceiling:
                child.is_swollen = True
                self._end(child, _SHORT_GRACE)
            elif child.death is None:
                yield from self._attend(child, selector)
            elif child.task.is_continued and is_stopped(child.pid):
                os.kill(child.pid, signal.SIGCONT)

    def _end(self, child: Child, grace: float) -> None:
        """End a child that has broken a limit; its stack says where."""
        with contextlib.suppress(OSError):
            os.kill(child.pid, signal.SIGUSR2)
        until, written = time.monotonic() + grace, 0
        while time.monotonic() < until:
            time.sleep(_POLL)
            size = os.fstat(child.trace.fileno()).st_size
            if size and size == written:  # the stack is there, and nothing more comes
                break
            written = size
        self._kill(child)

    def _kill(self, child: Child) -> None:
        """End a child and all that is beneath it."""
        end_descent(child.pid)
        with contextlib.suppress(OSError):
            if child.task.is_leader:
                os.killpg(child.pid, signal.SIGKILL)

    def _bury(self, child: Child) -> Ended:
        """Reap a child that has ended or was killed, and end what it leaves behind."""
        reading = child.flight.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        if child.process is not None:
            child.process.returncode = status
        if child.task.is_leader:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)
        del self._children[child.pid]
        if self._adopts:
            end_orphans({*self._strangers, *self._children})
        for descriptor in child.descriptors:
            os.close(descriptor)
        ended = Ended(
            _death(child, status),
            -status if status < 0 else status,
            reading,
            _head(child.trace),
            _tail(child.output),
            time.monotonic() - child.started,
            memory_kills() > child.kills_before,
        )
        child.flight.close()
        return ended


def _listen(child: Child, selector: selectors.BaseSelector) -> None:
    for descriptor in child.descriptors:
        selector.register(descriptor, selectors.EVENT_READ, child)


def _has_ended(child: Child) -> bool:
    """Return whether a child has ended; it is not reaped."""
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _death(child: Child, status: int) -> Death:
    if child.is_garbled:
        return Death.GARBLED
    if child.is_late:
        return Death.TIMEOUT
    if child.is_swollen:
        return Death.SWOLLEN
    if status < 0:
        return Death.KILLED
    return Death.DONE if status == GOOD else Death.EXITED


def _head(handle: IO[bytes]) -> str:
    """Return the beginning of a file: a stack begins with its innermost line."""
    with handle:
        handle.seek(0)
        return handle.read(_HEAD).decode("utf-8", "replace")


def _tail(handle: IO[bytes]) -> str:
    with handle:
        handle.seek(0, os.SEEK_END)
        handle.seek(max(handle.tell() - _TAIL, 0))
        return handle.read().decode("utf-8", "replace")
