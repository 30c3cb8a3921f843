"""The zygote: a fresh interpreter, BLAS pinned to one thread, that imports opkit once and forks a worker per target.

It talks to the process that the user started, and is the only one that does.
"""

from __future__ import annotations

import math
import os
import sys
from functools import partial

from opkit.checker import OpReport
from opkit.verify.isolation import frames
from opkit.verify.isolation.blame import blame_death, report_of
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.limits import limit_memory
from opkit.verify.isolation.supervisor import Ended, Outbox, Supervisor, Task, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.load import load, preload
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.messages import Checked, Planned
from opkit.verify.workers.spawn import PATIENCE
from opkit.verify.workers.worker import check_target

__all__ = ["main"]


def main() -> None:
    """Read one request from stdin, run it, send messages to stdout until the request is done or stdin closes."""
    out = os.dup(1)
    os.dup2(2, 1)
    targets, options = _request()
    preload({target.kind for target in targets})
    if not can_fork():
        _check_here(targets, options, out)
        return
    width = max(options.width // max(len(targets), 1), 1)
    jobs = [_job(number, target, options, width) for number, target in enumerate(targets)]
    seen = _Seen()
    for number, message in Supervisor(options.width, lifeline=0, private=(out,)).run(jobs):
        if isinstance(message, Ended):
            for report in seen.missing(number, targets[number], message, options):
                frames.send(out, report)
        else:
            seen.note(message)
            frames.send(out, message)


def _check_here(targets: tuple[Target, ...], options: RunOptions, out: int) -> None:
    """Check targets in this very process, which serves nothing else."""
    outbox = Outbox(out, Flight())
    limit_memory(options.memory)
    for number, target in enumerate(targets):
        check_target(number, target.label, partial(load, target, options), options, 1, outbox)


def _request() -> tuple[tuple[Target, ...], RunOptions]:
    reader = frames.FrameReader()
    while data := os.read(0, 1 << 16):
        for request in reader.feed(data):
            targets, options = request
            return targets, options
    sys.exit(1)


def _job(number: int, target: Target, options: RunOptions, width: int) -> Task:
    seconds = options.timeout or math.inf
    if target.kind is TargetKind.SCRIPT:
        seconds *= PATIENCE
    run = partial(check_target, number, target.label, partial(load, target, options), options, width)
    return Task(number, run, seconds, options.memory)


class _Seen:
    """What targets have said so far, to know what a worker that died left unsaid."""

    def __init__(self) -> None:
        self._planned: dict[int, tuple[str, ...]] = {}
        self._checked: set[tuple[int, int]] = set()

    def note(self, message: Planned | Checked) -> None:
        if isinstance(message, Planned):
            self._planned[message.target] = message.ops
        else:
            self._checked.add((message.target, message.order))

    def missing(self, number: int, target: Target, ended: Ended, options: RunOptions) -> list[Checked]:
        """Return reports for the ops that the ended worker owed."""
        directory = target.label if target.kind is TargetKind.DIRECTORY else None
        finding = blame_death(ended, options.limits, lambda _: None)
        planned = self._planned.get(number)
        if planned is None:
            return [Checked(number, -1, report_of(target.label, directory, finding, ended.seconds))]
        owed = [order for order in range(len(planned)) if (number, order) not in self._checked]
        reports: list[OpReport] = [report_of(planned[order], directory, finding, ended.seconds) for order in owed]
        return [Checked(number, order, report) for order, report in zip(owed, reports)]
