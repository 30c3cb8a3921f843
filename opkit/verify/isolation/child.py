"""Child: the task that a process of its own is given, its way to its supervisor, and its settings before it begins.

How long it may live, and what becomes of it, is the supervisor's business.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from importlib import import_module
from os import _exit  # by value: a child that a user's os._exit let go on would be a second supervisor
from subprocess import Popen
from typing import IO, Any

from opkit.blind import frames
from opkit.blind.limits import MEBIBYTE, limit_memory, memory_kills, memory_resident, pinned, put_aside, trace_deaths
from opkit.forked import end_if_forked
from opkit.record import mutable_entity, record
from opkit.verify.isolation.descent import adopt_orphans, die_with_parent
from opkit.verify.isolation.flight import Flight, Phase
from opkit.verify.isolation.interpreter import command
from opkit.verify.isolation.shown import show_paths_from

#: Exit status of a child whose task returned; user code that leaves by itself does not know it.
GOOD = 86
#: Seconds beyond the task's own that an interpreter may take until it reads what it is to do.
_START = 20.0


class Paused(BaseException):
    """A user's function asked for a debugger, where there is no terminal for one."""


def refuse_to_pause(*args: object, **kwargs: object) -> None:
    """Stand in for ``sys.breakpointhook``.

    Raises:
        Paused: always.
    """
    raise Paused


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

    def allow(self, mebibytes: int) -> None:
        """Ask to be ended where this process holds so much more than now: frameworks reserve what they never use."""
        held = memory_resident()
        self.flight.allow(held + mebibytes * MEBIBYTE if held and mebibytes else math.inf)


@record
class FreshCall:
    """What a fresh interpreter is to do: a module's ``run(*given, outbox)``.

    Args:
        module: which the interpreter imports.
        given: what it is called with; picklable, and rebuilt by importing alone.
        frameworks: that it is going to import anyway.
    """

    module: str
    given: tuple[Any, ...]
    frameworks: tuple[str, ...] = ()

    def __call__(self, outbox: Outbox) -> None:
        """Do it, in the interpreter that was started for it."""
        gc.enable()  # off since the interpreter started
        sys.dont_write_bytecode = True
        show_paths_from(os.getcwd())
        import_module(self.module).run(*self.given, outbox)


@record
class Task:
    """One thing to do in a child of its own.

    Args:
        key: handed back with everything that comes of the task.
        run: called in the child; what it returns or raises after its last message is not looked at. A ``FreshCall`` is
            run by a fresh interpreter, all else by a forked copy of this process, which must not have threads.
        seconds: time limit, infinity for none; the child may arm another (``Outbox.flight.arm``).
        memory: mebibytes of address space that the child may use beyond what it starts with; 0 for no limit. A fresh
            interpreter asks for its limit (``Outbox.allow``).
        is_leader: the child leads a process group of its own, which is ended with it.
        is_continued: the child is set going again when something stops it.
        is_loud: what it prints goes where its supervisor's standard error goes, as it is printed.
    """

    key: Any
    run: Callable[[Outbox], None] | FreshCall
    seconds: float = math.inf
    memory: int = 0
    is_leader: bool = True
    is_continued: bool = False
    is_loud: bool = False


@mutable_entity
class Child:
    """A child as its supervisor sees it.

    Args:
        task: what it does.
        pid: its process.
        pipe: where its messages are read.
        death: a descriptor that becomes readable when it ends, None where the system has none.
        flight: what it is doing.
        trace: where its stack is written at a crash.
        output: where it prints.
        started: time.monotonic() of its start.
        reader: makes messages of what the pipe gives.
        is_late: it is ended because its time is over.
        is_garbled: it is ended because something wrote to its pipe that is not a message.
        is_swollen: it is ended because it held more memory than its limit.
        process: the fresh interpreter that it is, None for a copy of this process.
        kills_before: how many processes the system had ended for lack of memory.
    """

    task: Task
    pid: int
    pipe: int
    death: int | None
    flight: Flight
    trace: IO[bytes]
    output: IO[bytes]
    started: float
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    is_late: bool = False
    is_garbled: bool = False
    is_swollen: bool = False
    process: Popen[bytes] | None = None
    kills_before: int = field(default_factory=memory_kills)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Those that tell of messages and of the end."""
        return (self.pipe,) if self.death is None else (self.pipe, self.death)


def begin(task: Task, closed: Iterable[int] = ()) -> Child:
    """Start a child that does a task, and nothing else.

    A process that has threads must not be forked: the copy has the locks of threads that it does not have.

    Args:
        task: what it does.
        closed: descriptors that it may not keep open.
    """
    read, write = os.pipe()
    os.set_blocking(read, False)
    write = put_aside(write)
    trace, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    process = None
    _flush()
    if isinstance(task.run, FreshCall):
        flight, process = _interpreter(task, task.run, write, trace, output)
        pid = process.pid
    else:
        flight = Flight()
        pid = os.fork()
        if pid == 0:
            try:
                for other in (read, *closed):
                    os.close(other)
                become(task, Outbox(write, flight), trace.fileno(), output.fileno())
            finally:
                _exit(1)
    os.close(write)
    if task.is_leader:
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
    return Child(task, pid, read, _death_of(pid), flight, trace, output, time.monotonic(), process=process)


def _interpreter(
    task: Task, call: FreshCall, write: int, trace: IO[bytes], output: IO[bytes]
) -> tuple[Flight, Popen[bytes]]:
    """Start an interpreter by exec, which ``main`` makes the task's child."""
    with tempfile.TemporaryFile() as page, tempfile.TemporaryFile() as request:
        page.truncate(Flight.SIZE)
        flight = Flight(page.fileno())
        flight.arm(task.seconds + _START)
        pickle.dump(replace(task, key=None), request)
        request.seek(0)
        kept = (write, page.fileno(), trace.fileno(), output.fileno())
        prints = None if task.is_loud else output
        words = command(__name__, call.frameworks, descriptors=kept)
        return flight, Popen(words, stdin=request, stdout=prints, stderr=prints, pass_fds=kept, env=pinned(os.environ))


def main(descriptors: tuple[int, int, int, int]) -> None:
    """Do what was asked for, in an interpreter that was started for it.

    Args:
        descriptors: of the pipe, the flight recorder's page, the trace and the output.
    """
    write, page, trace, output = descriptors
    with open(0, "rb", closefd=False) as stream:
        task = pickle.load(stream)
    flight = Flight(page)
    os.close(page)
    become(task, Outbox(write, flight), trace, output)


def _death_of(pid: int) -> int | None:
    """Return a descriptor that becomes readable when a process ends, None where the system has none."""
    try:
        return os.pidfd_open(pid) if sys.platform == "linux" else None
    except (AttributeError, OSError):
        return None


def become(task: Task, outbox: Outbox, trace: int, output: int) -> None:
    """Turn this process into the task's child; never returns."""
    status = 1
    try:
        die_with_parent()
        adopt_orphans()
        if task.is_leader:
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2 if task.is_loud else output, 1)
        os.dup2(1, 2)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.breakpointhook = refuse_to_pause
        trace_deaths(trace)
        Flight.here = outbox.flight
        limit_memory(task.memory)
        if math.isfinite(task.seconds):
            outbox.flight.arm(task.seconds)
        task.run(outbox)
        outbox.flight.enter(Phase.SUPERVISING)
        status = GOOD
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        _flush()
        _exit(status)


def _flush() -> None:
    """Write out what was printed; user code may have put anything in the streams' place."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
