"""Fresh: a child that is not a copy of its supervisor's process but an interpreter of its own, started by exec.

A process that has threads must not be forked: the copy has the locks of threads that it does not have. What the child
does is named by module and function (``FreshCall``) and imported there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib import import_module

from opkit.verify.isolation.child import Child, FreshCall, Outbox, Task, become, death_of, open_pipe
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.interpreter import command
from opkit.verify.isolation.limits import pinned

#: Seconds beyond the task's own that an interpreter may take until it reads what it is to do.
_START = 20.0


def begin_fresh(task: Task, program: FreshCall) -> Child:
    """Start an interpreter that does a task; safe in a process that has threads.

    Args:
        task: what it does; its memory limit is set by the program itself.
        program: the task's ``run``.
    """
    read, write = open_pipe()
    trace, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    with tempfile.TemporaryFile() as page, tempfile.TemporaryFile() as request:
        page.truncate(Flight.SIZE)
        flight = Flight(task.stop_at, page.fileno())
        flight.arm(task.seconds + _START)
        settings = (task.seconds, task.is_leader, task.stop_at, task.is_continued, task.is_loud)
        pickle.dump((settings, program), request)
        request.seek(0)
        kept = (write, page.fileno(), trace.fileno(), output.fileno())
        sys.stdout.flush()
        sys.stderr.flush()
        process = subprocess.Popen(
            command(__name__, program.frameworks, descriptors=kept),
            stdin=request,
            stdout=None if task.is_loud else output,
            stderr=None if task.is_loud else output,
            pass_fds=kept,
            env=pinned(os.environ),
        )
    os.close(write)
    if task.is_leader:
        with contextlib.suppress(OSError):
            os.setpgid(process.pid, process.pid)
    death = death_of(process.pid)
    return Child(task, process.pid, read, death, flight, trace, output, time.monotonic(), process=process)


def main(descriptors: tuple[int, int, int, int]) -> None:
    """Do what was asked for, in the interpreter that ``begin_fresh`` started.

    Args:
        descriptors: of the pipe, the flight recorder's page, the trace and the output.
    """
    write, page, trace, output = descriptors
    with open(0, "rb", closefd=False) as stream:
        (seconds, is_leader, stop_at, is_continued, is_loud), program = pickle.load(stream)
    run = partial(_run, program)
    task = Task(None, run, seconds, 0, is_leader, stop_at, is_continued, is_loud)
    flight = Flight(stop_at, page)
    os.close(page)
    become(task, Outbox(write, flight), trace, output)


def _run(program: FreshCall, outbox: Outbox) -> None:
    import gc

    gc.enable()  # off since the interpreter started
    getattr(import_module(program.module), program.function)(program.request, outbox)
