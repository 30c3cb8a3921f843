"""The zygote: a fresh interpreter, BLAS pinned to one thread, that imports opkit once and forks a worker per target.

It talks to the process that the user started, and is the only one that does.
"""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from opkit.blind import frames
from opkit.blind.limits import limit_memory
from opkit.verify.isolation.blame import blame_death, is_avoidable
from opkit.verify.isolation.child import Outbox, Task
from opkit.verify.isolation.flight import Flight, Stop
from opkit.verify.isolation.supervisor import Ended, Supervisor, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.load import frameworks_of, load, preload, wants_fresh
from opkit.verify.targets.recipe import Recipe
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.attempts import Attempts
from opkit.verify.workers.ledger import Ledger
from opkit.verify.workers.loading import Errand
from opkit.verify.workers.spawn import PATIENCE, check_spawned
from opkit.verify.workers.start import LOADER
from opkit.verify.workers.worker import check_target


def main() -> None:
    """Read one request from stdin, run it, send messages to stdout until the request is done or stdin closes."""
    out = os.dup(1)
    os.dup2(2, 1)
    # What is asked most likely, while the process that asks is loading itself.
    preload([TargetKind.DIRECTORY if LOADER in sys.modules else TargetKind.NAMED])
    gc.enable()  # off since the interpreter started
    request = next(frames.received(partial(os.read, 0)), None)
    if request is None:  # the process that was to ask has changed its mind, or has ended
        sys.exit(1)
    targets, options = request
    fresh = [number for number, target in enumerate(targets) if wants_fresh(target)]
    preload(target.kind for number, target in enumerate(targets) if number not in fresh)
    if not can_fork():
        _check_here(targets, options, out)
    else:
        ledger = Ledger(targets)
        _check_forked(ledger, targets, [number for number in range(len(targets)) if number not in fresh], options, out)
        errands = [
            replace(_errand(number, targets[number]), frameworks=frameworks_of(targets[number].path))
            for number in fresh
        ]
        for message in check_spawned(ledger.accounts, errands, options, options.width, (out,), lifeline=0):
            ledger.note(message)
            frames.send(out, message)
    os._exit(0)  # there is nothing to tidy up


def _check_forked(
    ledger: Ledger, targets: Sequence[Target], numbers: Sequence[int], options: RunOptions, out: int
) -> None:
    """Check those targets whose files may be loaded in copies of this process, a copy for each."""
    width = max(options.width // max(len(numbers), 1), 1)
    jobs = [_job(number, targets[number], options, width) for number in numbers]
    loads = {job.key: Attempts(options.limits, job.seconds, True, math.inf) for job in jobs}
    supervisor = Supervisor(options.width, lifeline=0, private=(out,), adopts=True)
    for number, message in supervisor.run(jobs):
        if isinstance(message, Ended):
            tried = loads[number]
            is_look = ledger.accounts[number].plan is None and is_avoidable(message)
            seconds = tried.after(message) if is_look else None
            if seconds is not None:
                supervisor.add(replace(_job(number, targets[number], options, width, tried.stops), seconds=seconds))
                continue
            finding = tried.finding() if tried.stops else blame_death(message, options.limits)
            for owed in ledger.accounts[number].settle(finding, message.seconds):
                frames.send(out, owed)
        elif not isinstance(message, frames.Unreadable):  # its op is owed, and is settled at the end
            ledger.note(message)
            frames.send(out, message)


def _check_here(targets: tuple[Target, ...], options: RunOptions, out: int) -> None:
    """Check targets in this process, which serves nothing else."""
    outbox = Outbox(out, Flight())
    limit_memory(options.memory)
    for number, target in enumerate(targets):
        check_target(_errand(number, target), options, 1, outbox)


def _errand(number: int, target: Target) -> Errand:
    return Errand(number, Recipe.of(load, target), target.label)


def _job(number: int, target: Target, options: RunOptions, width: int, looks: tuple[Stop, ...] = ()) -> Task:
    is_script = target.kind is TargetKind.SCRIPT
    seconds = (options.timeout or math.inf) * (PATIENCE if is_script else 1)
    errand = replace(_errand(number, target), looks=looks)
    run = partial(check_target, errand, options, width)
    return Task(number, run, seconds, options.memory, is_continued=True, is_loud=options.shows_output)
