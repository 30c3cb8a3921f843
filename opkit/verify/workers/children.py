"""Children: each op of a target checked in a child process of its own.

The process that forks them has no threads, and holds what the target's files made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from opkit.checker import Checkable, CheckResult, OpReport, Status
from opkit.verify.codes import INTERNAL
from opkit.verify.isolation.announced_calls import UserCall
from opkit.verify.isolation.blame import blame_death
from opkit.verify.isolation.child import Outbox, Task
from opkit.verify.isolation.frames import Unreadable
from opkit.verify.isolation.supervisor import Ended, Supervisor
from opkit.verify.options import RunOptions
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Begun, CheckDone, Checked, Message
from opkit.verify.workers.one_op import check_told

#: Seconds beyond the op's own in which a fatal call is found again, for its inputs.
_REPLAY = 0.6
#: How many of the last printed lines a report shows, and how much of each.
_LAST, _WIDEST = 5, 200


def _task(begun: Begun, checkable: Checkable, options: RunOptions, is_leader: bool) -> Task:
    options = options.for_op(checkable.name, checkable.directory)
    run = partial(_check_in_child, begun, checkable, options)
    seconds = options.timeout or math.inf
    return Task(begun.order, run, seconds, options.memory, is_leader, is_loud=options.shows_output)


def check_forked(
    account: Account,
    checkables: Sequence[Checkable],
    options: RunOptions,
    width: int,
    private: Sequence[int] = (),
    is_leader: bool = False,
) -> Iterator[Message]:
    """Check each op in a child of its own.

    Args:
        account: the target's, kept by the caller; an op that it holds a report of is not reported again.
        checkables: the target's ops.
        options: of the run.
        width: how many at once.
        private: descriptors of this process that no child may keep open.
        is_leader: each child leads a process group of its own: this process is not a worker, whose group is ended.
    """
    begins = [Begun(account.number, order) for order in range(len(checkables))]
    tasks = [_task(begun, item, options, is_leader) for begun, item in zip(begins, checkables)]
    reports: dict[int, Checked] = {}
    for order, message in Supervisor(width, private=private, adopts=not is_leader).run(tasks):
        if isinstance(message, (Begun, CheckDone)):
            yield message
        elif isinstance(message, Checked):
            reports[order] = message
        elif isinstance(message, Unreadable):
            text = f"the report could not be read ({message.why}); the op was not judged"
            yield account.closed(order, CheckResult(INTERNAL.name, Status.ERROR, INTERNAL.code, text), 0.0)
        elif isinstance(message, Ended) and order in reports:
            known = reports.pop(order)
            yield replace(known, report=_with_output(known.report, message.output))
        elif isinstance(message, Ended) and order in account.owed:

            def replay(number: int, task: Task = tasks[order], ended: Ended = message) -> UserCall | None:
                seconds = max(task.seconds - ended.seconds, 0.0) + _REPLAY
                again = replace(task, stop_at=number, seconds=seconds, is_loud=False)
                return _replay(again, private, not is_leader)

            limits = options.for_op(checkables[order].name, checkables[order].directory).limits
            yield account.closed(order, blame_death(message, limits, replay), message.seconds)


def _with_output(report: OpReport, output: str) -> OpReport:
    """Add the end of what an op printed to a report that finds something."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    if not lines or not report.findings:
        return report
    shown = "\n".join(line[:_WIDEST] for line in lines[-_LAST:])
    return replace(report, notes=(*report.notes, f"printed last (all of it with -s):\n{shown}"))


def _replay(task: Task, private: Sequence[int], adopts: bool) -> UserCall | None:
    """Run a check again up to a call of a user's function, and return that call with its inputs."""
    for _, message in Supervisor(1, private=private, adopts=adopts).run([task]):
        if isinstance(message, UserCall):
            return message
    return None


def _check_in_child(begun: Begun, checkable: Checkable, options: RunOptions, outbox: Outbox) -> None:
    """Check one op in a child of a supervisor."""
    outbox.send(begun)
    check_told(begun, checkable, options, outbox)
