"""The client of the zygote: asks it, reads its messages, and ends it with everything beneath it.

Runs in the process that the user started; no user code does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from subprocess import Popen

from opkit.blind import frames
from opkit.errors import OpkitError
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.target import Target
from opkit.verify.workers.ledger import Message
from opkit.verify.workers.start import end, pipes_of, start


class WorkerError(OpkitError):
    """The process that runs the workers could not be started, or died."""


def run_isolated(
    targets: Sequence[Target],
    options: RunOptions,
    interpreter: Popen[bytes] | None = None,
    folder: str | None = None,
) -> Iterator[Message]:
    """Check targets in worker processes; yield what they say, in the order of its arrival.

    Leaving the iterator early (KeyboardInterrupt too) ends every worker.

    Args:
        targets: what to check.
        options: of the run.
        interpreter: one that was started for this run already, None to start one.
        folder: that they work in and show paths from, by default the one of this process.

    Raises:
        WorkerError: the worker processes cannot be started, or their parent died.
    """
    if not can_fork():
        from opkit.verify.workers.spawn import run_alone  # and the checker, which this process does without elsewhere

        for number, target in enumerate(targets):
            yield from run_alone(number, target, options, partial(start, folder=folder))
        return
    process = interpreter or start((target.path for target in targets), folder)
    try:
        yield from _messages(process, targets, options)
    finally:
        end(process)


def _messages(process: Popen[bytes], targets: Sequence[Target], options: RunOptions) -> Iterator[Message]:
    requests, answers = pipes_of(process)
    try:
        frames.send(requests.fileno(), (tuple(targets), options))
    except OSError as error:
        raise WorkerError(
            "the worker process could not be started", help=f"{sys.executable} is what was tried"
        ) from error
    yield from frames.received(partial(os.read, answers.fileno()))  # what is lost is owed, and is settled at the end
    status = process.wait()
    if status:
        raise WorkerError(
            f"the process that runs the workers ended with status {status}",
            help="the ops that were not reported have not been checked; try --jobs 1",
        )
