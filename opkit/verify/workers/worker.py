"""What runs inside workers: one loads a target, and under it one for each op checks that op.

Both are children of a Supervisor; nothing that user code does here can reach the process that the user started.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from opkit.checker import Checkable, CheckResult, OpReport, check
from opkit.checker.model.case import plain
from opkit.forked import end_if_forked
from opkit.verify.codes import LOAD
from opkit.verify.failures.slopes import with_slopes
from opkit.verify.failures.store import FailureStore, former
from opkit.verify.isolation.blame import (
    blame_death,
    blame_error,
    blame_left,
    blame_ourselves,
    report_of,
    show_paths_from,
)
from opkit.verify.isolation.flight import Flight, Phase, Stop
from opkit.verify.isolation.limits import threads_here
from opkit.verify.isolation.supervisor import Ended, Outbox, Supervisor, Task, can_fork
from opkit.verify.isolation.watch import Left, UserCall, Watch
from opkit.verify.options import RunOptions
from opkit.verify.targets.loaded import Loaded
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Begun, Checked, Message, Planned

__all__ = ["Loader", "check_alone", "check_forked", "check_former", "check_target", "joined"]

#: Loads a target in the worker; the flight recorder is for the calls of user code on the way.
Loader = Callable[[Flight], Loaded]


def check_target(account: Account, load: Loader, options: RunOptions, width: int, outbox: Outbox) -> None:
    """Load a target and check its ops, each in a child of its own; send every message that its account is given.

    Args:
        account: the target's, empty.
        load: gives the contents.
        options: of the run.
        width: how many ops at once.
        outbox: where the messages go.
    """
    sys.dont_write_bytecode = True
    show_paths_from(os.getcwd())
    flight = outbox.flight
    flight.enter(Phase.LOADING)
    process = os.getpid()
    try:
        loaded = load(flight)
    except (Exception, SystemExit) as error:
        loaded = Loaded(reports=(OpReport(account.label, (blame_error(error, LOAD, "loading"),)),))
    end_if_forked(process)
    flight.arm(math.inf)
    flight.enter(Phase.SUPERVISING)
    is_forking = can_fork() and threads_here() == 1
    checking = (
        check_forked(account, loaded.checkables, options, width, (outbox.descriptor,))
        if is_forking
        else _in_turn(account, loaded.checkables, options, flight)
    )
    for message in chain(_opening(account, loaded), checking):
        account.note(message)
        outbox.send(message)


def _opening(account: Account, loaded: Loaded) -> Iterator[Message]:
    """Yield what is known before any check: the plan, and findings about the target itself."""
    names = tuple(item.name for item in loaded.checkables)
    directories = tuple(item.directory for item in loaded.checkables)
    yield Planned(account.number, names, directories, loaded.diagnostics)
    for report in loaded.reports:
        yield Checked(account.number, -1, report)


def _in_turn(
    account: Account, checkables: Sequence[Checkable], options: RunOptions, flight: Flight
) -> Iterator[Message]:
    """Check the ops in this process: it has threads (a user's), which a fork would leave in an unknown state."""
    for order, item in enumerate(checkables):
        yield Begun(account.number, order)
        flight.arm(options.timeout or math.inf)
        report = check_alone(item, options, flight)
        if isinstance(report, OpReport):
            yield Checked(account.number, order, report)
    flight.arm(math.inf)


def _task(begun: Begun, checkable: Checkable, options: RunOptions, is_leader: bool, stop_at: int = 0) -> Task:
    run = partial(_check_in_child, begun, checkable, options)
    return Task(begun.order, run, options.timeout or math.inf, options.memory, is_leader, stop_at)


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
    for order, message in Supervisor(width, private=private).run(tasks):
        if isinstance(message, Begun):
            yield message
        elif isinstance(message, OpReport):
            yield Checked(account.number, order, message)
        elif isinstance(message, Ended) and order in account.owed:
            item = checkables[order]

            def replay(number: int, begun: Begun = begins[order], item: Checkable = item) -> UserCall | None:
                return _replay(_task(begun, item, options, is_leader, number), private)

            finding = blame_death(message, options.limits, replay)
            yield Checked(account.number, order, report_of(item.name, item.directory, finding, message.seconds))


def _replay(task: Task, private: Sequence[int]) -> UserCall | None:
    """Run a check again up to a call of a user's function, and return that call with its inputs."""
    for _, message in Supervisor(1, private=private).run([task]):
        if isinstance(message, UserCall):
            return message
    return None


def _check_in_child(begun: Begun, checkable: Checkable, options: RunOptions, outbox: Outbox) -> None:
    """Check one op in a child of a supervisor; send its report, or the call at which a replay stopped."""
    outbox.send(begun)
    outbox.flight.enter(Phase.CHECKING)
    message: OpReport | UserCall = check_alone(checkable, options, outbox.flight)
    try:
        pickle.dumps(message)
    except Exception:
        message = _plain(message)
    outbox.send(message)


def check_alone(checkable: Checkable, options: RunOptions, flight: Flight) -> OpReport | UserCall:
    """Check one op in this process.

    Args:
        checkable: the op.
        options: of the run; former failures are checked first where it says so.
        flight: told of every call of a user's function.

    Returns:
        The report; or the call at which the flight recorder stopped the check (replay).
    """
    watch = Watch(flight, options.memory)
    watched = watch.over(checkable)
    started = time.perf_counter()
    try:
        again = check_former(watched, options)
        report = with_slopes(check(watched, options.check), watched)
    except Stop:
        last = watch.last
        return UserCall(last.phase, last.case().inputs, last.attrs, [_as_array(dout) for dout in last.douts])
    except Left as left:
        finding = blame_left(left, watch.last, options.limits)
        return report_of(checkable.name, checkable.directory, finding, time.perf_counter() - started)
    except MemoryError as error:
        finding = blame_left(Left(error), watch.last, options.limits)
        return report_of(checkable.name, checkable.directory, finding, time.perf_counter() - started)
    except Exception as error:
        finding = blame_ourselves(error, watch.last)
        return report_of(checkable.name, checkable.directory, finding, time.perf_counter() - started)
    return joined(report, again, time.perf_counter() - started)


def _as_array(value: object) -> object:
    return value.copy() if hasattr(value, "copy") else value


def check_former(checkable: Checkable, options: RunOptions) -> tuple[CheckResult, ...]:
    """Check the inputs that failed in earlier runs; return the failures that are still there."""
    if not options.replay:
        return ()
    found: list[CheckResult] = []
    for failure in FailureStore(options.cache).of(checkable):
        once = replace(checkable, recorded=(failure.case,), cases=None)
        settings = replace(options.check, select=frozenset({failure.code}), power=False)
        found += [item for item in check(once, settings).findings if former(item) == failure.key]
    return tuple(found)


def joined(report: OpReport, again: tuple[CheckResult, ...], seconds: float) -> OpReport:
    """Put former failures that the run itself did not meet before its own findings."""
    known = {former(item) for item in report.findings}
    missed = tuple(item for item in again if former(item) not in known)
    return replace(report, checks=missed + report.checks, seconds=seconds)


def _plain(report: OpReport | UserCall) -> OpReport:
    """Return a report whose values are plain data, for values that cannot leave the process."""
    if not isinstance(report, OpReport):
        raise TypeError("only reports can be made plain")
    checks = tuple(
        replace(item, expected=plain(item.expected), actual=plain(item.actual), case=plain(item.case), evidence=None)
        for item in report.checks
    )
    return replace(report, checks=checks)
