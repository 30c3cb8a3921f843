"""Supervisor: runs jobs in forked children, so many at a time, and outlives whatever they do.

It knows time, memory and death, not ops: what a child sends is handed on unread.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from os import _exit  # by value: a child that a user's os._exit let go on would be a second supervisor
from typing import IO, Any

from opkit.forked import end_if_forked
from opkit.shim.freezing import Freezing
from opkit.verify.isolation import frames
from opkit.verify.isolation.flight import Flight, Phase, Reading
from opkit.verify.isolation.limits import limit_memory, trace_deaths

__all__ = ["Death", "Ended", "Task", "Outbox", "Supervisor", "can_fork"]

_TAIL = 4000
_HEAD = 64_000
#: How long a child that is to be ended gets to write its stack.
_GRACE = 0.15


def can_fork() -> bool:
    """Say whether this platform can isolate ops by forking."""
    return hasattr(os, "fork") and sys.platform != "win32"


class Death(Enum):
    """How a child ended; the value completes "the worker ..."."""

    DONE = "finished"
    EXITED = "ended its process in the middle of the check"
    KILLED = "was killed by a signal"
    TIMEOUT = "did not finish within the time limit"


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a child.

    Args:
        death: how.
        status: exit status, or the signal's number for KILLED.
        flight: what it was doing.
        trace: Python's stack at the crash or the timeout, "" where there is none.
        output: the end of what it printed.
        seconds: wall-clock time it took.
    """

    death: Death
    status: int
    flight: Reading
    trace: str
    output: str
    seconds: float


class Outbox:
    """A child's way to its supervisor."""

    def __init__(self, descriptor: int, flight: Flight) -> None:
        self.descriptor = descriptor
        self.flight = flight
        self._process = os.getpid()

    def send(self, message: object) -> None:
        """Send one message; what cannot be pickled raises here, in the child. A copy of the child ends here."""
        end_if_forked(self._process)
        frames.send(self.descriptor, message)


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do in a child of its own.

    Args:
        key: handed back with everything that comes of the job.
        run: called in the child; what it returns or raises after its last message is not looked at.
        seconds: time limit, infinity for none; the child may arm another (``Outbox.flight.arm``).
        memory: mebibytes that the child may use beyond what it starts with; 0 for no limit.
        is_leader: the child leads a process group of its own, which is ended with it.
        stop_at: the call of a user function to stop at, 0 for none (``Flight``).
    """

    key: Any
    run: Callable[[Outbox], None]
    seconds: float = math.inf
    memory: int = 0
    is_leader: bool = True
    stop_at: int = 0


@dataclass(slots=True, eq=False)
class _Child:
    job: Task
    pid: int
    pipe: int
    flight: Flight
    trace: IO[bytes]
    output: IO[bytes]
    started: float
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    is_ending: bool = False


class Supervisor:
    """Runs jobs, at most ``width`` at a time.

    Args:
        width: how many children at once.
        lifeline: a descriptor that becomes readable when the supervisor itself is to stop, or None.
        private: descriptors of the supervisor's own that no child may keep open.
    """

    def __init__(self, width: int, lifeline: int | None = None, private: Sequence[int] = ()) -> None:
        self._width = max(width, 1)
        self._lifeline = lifeline
        self._private = tuple(private)
        self._children: dict[int, _Child] = {}

    def run(self, jobs: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Run the jobs; yield (key, message) for each message and (key, Ended) last.

        The order of the messages of different jobs is that of their arrival. Leaving the iterator early ends
        the children.
        """
        waiting = deque(jobs)
        freezing = Freezing()
        with selectors.DefaultSelector() as selector:
            if self._lifeline is not None:
                selector.register(self._lifeline, selectors.EVENT_READ, None)
            try:
                while waiting or self._children:
                    while waiting and len(self._children) < self._width:
                        child = self._start(waiting.popleft(), freezing)
                        selector.register(child.pipe, selectors.EVENT_READ, child)
                    for key, _ in selector.select(self._patience()):
                        if key.data is None:
                            return
                        yield from self._read(key.data, selector)
                    self._end_the_late()
            finally:
                for child in list(self._children.values()):
                    self._kill(child)
                    self._bury(child)
                freezing.end()

    def _start(self, job: Task, freezing: Freezing) -> _Child:
        read, write = os.pipe()
        trace, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        flight = Flight(job.stop_at)
        sys.stdout.flush()
        sys.stderr.flush()
        freezing.freeze()  # so that the collector does not touch, and so copy, memory that the child shares
        pid = os.fork()
        if pid == 0:
            os.close(read)
            for other in (*self._private, *(child.pipe for child in self._children.values())):
                os.close(other)
            _become(job, Outbox(write, flight), trace.fileno(), output.fileno())
        os.close(write)
        if job.is_leader:
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
        child = _Child(job, pid, read, flight, trace, output, time.monotonic())
        self._children[read] = child
        return child

    def _patience(self) -> float:
        """Return how long to wait for the next message: until the earliest deadline, half a second at the most."""
        now = time.monotonic()
        earliest = min(child.flight.read().deadline for child in self._children.values())
        return min(max(earliest - now, 0.01), 0.5)

    def _read(self, child: _Child, selector: selectors.BaseSelector) -> Iterator[tuple[Any, Any]]:
        data = os.read(child.pipe, 1 << 20)
        if data:
            for message in child.reader.feed(data):
                yield child.job.key, message
            return
        selector.unregister(child.pipe)
        yield child.job.key, self._bury(child)

    def _end_the_late(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if not child.is_ending and now > child.flight.read().deadline:
                child.is_ending = True
                with contextlib.suppress(OSError):
                    os.kill(child.pid, signal.SIGUSR2)
                time.sleep(_GRACE)
                self._kill(child)

    def _kill(self, child: _Child) -> None:
        with contextlib.suppress(OSError):
            if child.job.is_leader:
                os.killpg(child.pid, signal.SIGKILL)
            os.kill(child.pid, signal.SIGKILL)

    def _bury(self, child: _Child) -> Ended:
        """Wait for a child whose pipe is closed, and for nothing else of its group to be left."""
        reading = child.flight.read()
        status = self._wait(child)
        if child.job.is_leader:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)
        del self._children[child.pipe]
        os.close(child.pipe)
        ended = Ended(
            _death(child, status),
            -status if status < 0 else status,
            reading,
            _head(child.trace),
            _tail(child.output),
            time.monotonic() - child.started,
        )
        child.flight.close()
        return ended

    def _wait(self, child: _Child) -> int:
        """Reap a child; one that closed its pipe and lives on is killed at its deadline."""
        until = min(child.flight.read().deadline, time.monotonic() + 5)
        while True:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > until:
                self._kill(child)
                until = math.inf
            time.sleep(0.0005)


def _death(child: _Child, status: int) -> Death:
    if child.is_ending:
        return Death.TIMEOUT
    if status < 0:
        return Death.KILLED
    return Death.DONE if status == _GOOD else Death.EXITED


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


#: Exit status of a child whose job returned; user code that leaves by itself does not know it.
_GOOD = 86


def _become(job: Task, outbox: Outbox, trace: int, output: int) -> None:
    """Turn the forked process into the job's child; never returns."""
    status = 1
    try:
        if job.is_leader:
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        trace_deaths(trace)
        limit_memory(job.memory)
        if math.isfinite(job.seconds):
            outbox.flight.arm(job.seconds)
        job.run(outbox)
        outbox.flight.enter(Phase.SUPERVISING)
        status = _GOOD
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        _exit(status)
