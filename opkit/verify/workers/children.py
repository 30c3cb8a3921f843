"""Children: each op of a target checked in a child process of its own, or here where no other process can make it.

The process that forks them has no threads, and holds what the target's files made. One that has threads is not forked:
an op that cannot be imported elsewhere is checked in it, under a watchdog.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from opkit.blind.frames import Unreadable
from opkit.checker import Checkable, CheckResult, OpReport, Status
from opkit.verify.codes import INTERNAL, TIMEOUT
from opkit.verify.isolation.announced_calls import UserCall
from opkit.verify.isolation.blame import user_line
from opkit.verify.isolation.child import Outbox, Task
from opkit.verify.isolation.flight import Flight, Stop
from opkit.verify.isolation.supervisor import Ended, Supervisor
from opkit.verify.isolation.watchdog import LateError, Watchdog
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Unmade
from opkit.verify.workers.attempts import Attempts
from opkit.verify.workers.ledger import Account, Begun, CheckDone, Checked, Message
from opkit.verify.workers.one_op import check_alone, check_told

#: How many of the last printed lines a report shows, and how much of each.
_LAST, _WIDEST = 5, 200


def _task(
    begun: Begun, op: Checkable | Unmade, options: RunOptions, is_leader: bool, stops: tuple[Stop, ...] = ()
) -> Task:
    options = options.for_op(op.name, op.directory)
    run = partial(_check_in_child, begun, op, options, stops)
    seconds = options.timeout - op.spent if options.timeout else math.inf
    return Task(begun.order, run, seconds, options.memory, is_leader, is_loud=options.shows_output)


def check_forked(
    account: Account,
    ops: Sequence[Checkable | Unmade],
    options: RunOptions,
    width: int,
    private: Sequence[int] = (),
    is_leader: bool = False,
) -> Iterator[Message]:
    """Check each op in a child of its own.

    Args:
        account: the target's, kept by the caller; an op that it holds a report of is not reported again.
        ops: the target's ops.
        options: of the run.
        width: how many at once.
        private: descriptors of this process that no child may keep open.
        is_leader: each child leads a process group of its own: this process is not a worker, whose group is ended.
    """
    begins = [Begun(account.number, order) for order in range(len(ops))]
    tasks = [_task(begun, item, options, is_leader) for begun, item in zip(begins, ops)]
    reports: dict[int, Checked] = {}
    attempts = [Attempts.of(options.for_op(item.name, item.directory)) for item in ops]
    supervisor = Supervisor(width, private=private, adopts=not is_leader)
    for order, message in supervisor.run(tasks):
        if isinstance(message, (Begun, CheckDone)):
            yield message
        elif isinstance(message, Checked):
            reports[order] = message
        elif isinstance(message, UserCall):
            attempts[order].heard(message)
        elif isinstance(message, Unreadable):
            text = f"the report could not be read ({message.why}); the op was not judged"
            yield account.closed(order, CheckResult.of(INTERNAL, Status.ERROR, text), 0.0)
        elif isinstance(message, Ended) and order in reports:
            known = reports.pop(order)
            yield replace(known, report=_with_output(known.report, message.output))
        elif isinstance(message, Ended) and order in account.owed:
            tried = attempts[order]
            seconds = tried.after(message)
            if seconds is None:
                yield account.closed(order, tried.finding(), tried.spent)
            else:
                again = _task(begins[order], ops[order], options, is_leader, tried.stops)
                supervisor.add(replace(again, seconds=seconds, is_loud=False))


def _with_output(report: OpReport, output: str) -> OpReport:
    """Add the end of what an op printed to a report that finds something."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    if not lines or not report.findings:
        return report
    shown = "\n".join(line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..." for line in lines[-_LAST:])
    return replace(report, notes=(*report.notes, f"printed last (all of it with -s):\n{shown}"))


def _check_in_child(
    begun: Begun, op: Checkable | Unmade, options: RunOptions, stops: tuple[Stop, ...], outbox: Outbox
) -> None:
    """Check one op in a child of a supervisor."""
    outbox.flight.restart(stops)
    outbox.send(begun)
    check_told(begun, op, options, outbox)


def check_watched(
    account: Account, checkable: Checkable, options: RunOptions, why: str, order: int = 0
) -> Iterator[Message]:
    """Check one op in this process; a call that ends the process or never returns from C is not survived.

    Args:
        account: the op's, kept by the caller, which enters each message before it asks for the next one.
        checkable: the op.
        options: of the run; the memory is not limited.
        why: it cannot be checked elsewhere; the report says so.
        order: its place among those of the account.

    Raises:
        KeyboardInterrupt: the user's, also from within the op.
    """
    yield Begun(account.number, order)
    started = time.perf_counter()
    finished: list[CheckResult] = []
    passes = (LateError, KeyboardInterrupt)
    try:
        with Watchdog(options.timeout):
            report = check_alone(checkable, replace(options, memory=0), Flight(), finished.append, passes, False)
    except LateError as late:
        for item in finished:
            yield CheckDone(account.number, order, item)
        text = f"the check was not over at the time limit ({options.limits})"
        finding = CheckResult.of(TIMEOUT, Status.ERROR, text, where=user_line(late))
        yield account.closed(order, finding, time.perf_counter() - started)
    else:
        if isinstance(report, OpReport):
            note = f"checked in this process, which has threads, under a watchdog: {why}"
            yield Checked(account.number, order, replace(report, notes=(*report.notes, note)))
