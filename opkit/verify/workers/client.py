"""The client of the zygote: starts it, asks it, reads its messages, and ends it with everything beneath it.

Runs in the process that the user started; no user code does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import IO

from opkit.errors import OpkitError
from opkit.verify.isolation import frames
from opkit.verify.isolation.limits import pinned
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.target import Target
from opkit.verify.workers.messages import Message
from opkit.verify.workers.spawn import run_alone

__all__ = ["WorkerError", "run_isolated"]


class WorkerError(OpkitError):
    """The process that runs the workers could not be started, or died."""


_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from opkit.verify.workers.zygote import main; main()"
)


def run_isolated(targets: Sequence[Target], options: RunOptions) -> Iterator[Message]:
    """Check targets in worker processes; yield what they say, in the order of its arrival.

    Leaving the iterator early (KeyboardInterrupt too) ends every worker.

    Raises:
        WorkerError: the worker processes cannot be started, or their parent died.
    """
    if not can_fork():
        for number, target in enumerate(targets):
            yield from run_alone(number, target, options, _start)
        return
    process = _start()
    try:
        yield from _messages(process, targets, options)
    finally:
        _end(process)


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, *_flags(), "-c", _PROGRAM, json.dumps([os.path.abspath(item) for item in sys.path])]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=pinned(os.environ),
        start_new_session=True,
        bufsize=0,
    )


def _flags() -> list[str]:
    return [flag for flag in ("-I", "-E", "-s") if getattr(sys.flags, _FLAGS[flag])]


_FLAGS = {"-I": "isolated", "-E": "ignore_environment", "-s": "no_user_site"}


def _messages(process: subprocess.Popen[bytes], targets: Sequence[Target], options: RunOptions) -> Iterator[Message]:
    requests, answers = _pipes(process)
    reader = frames.FrameReader()
    try:
        frames.send(requests.fileno(), (tuple(targets), options))
    except OSError as error:
        raise WorkerError(
            "the worker process could not be started", help=f"{sys.executable} is what was tried"
        ) from error
    while data := os.read(answers.fileno(), 1 << 20):
        yield from reader.feed(data)
    status = process.wait()
    if status:
        raise WorkerError(
            f"the process that runs the workers ended with status {status}",
            help="the ops that were not reported have not been checked; try --jobs 1",
        )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the zygote is started with both pipes")
    return process.stdin, process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the zygote's lifeline, give it a moment to end its workers, then end it."""
    requests, answers = _pipes(process)
    with contextlib.suppress(OSError):
        requests.close()
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    answers.close()
