"""What runs inside workers: one loads a target, and under it one for each op checks that op.

Both are children of a Supervisor; nothing that user code does here can reach the process that the user started.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from opkit.checker import Checkable, CheckResult, OpReport, check
from opkit.checker.model.case import plain
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
from opkit.verify.workers.messages import Checked, Planned

__all__ = ["Loader", "check_alone", "check_former", "check_in_child", "check_target", "joined"]

#: Loads a target in the worker; the flight recorder is for the calls of user code on the way.
Loader = Callable[[Flight], Loaded]


def check_target(number: int, label: str, load: Loader, options: RunOptions, width: int, outbox: Outbox) -> None:
    """Load a target and check its ops, each in a child of its own; send Planned and Checked messages.

    Args:
        number: the target's.
        label: what to call the target where it cannot be loaded.
        load: gives the contents.
        options: of the run.
        width: how many ops at once.
        outbox: where the messages go.
    """
    sys.dont_write_bytecode = True
    show_paths_from(os.getcwd())
    flight = outbox.flight
    flight.enter(Phase.LOADING)
    try:
        loaded = load(flight)
    except (Exception, SystemExit) as error:
        loaded = Loaded(reports=(OpReport(label, (blame_error(error, LOAD, "loading"),)),))
    flight.arm(math.inf)
    flight.enter(Phase.SUPERVISING)
    outbox.send(Planned(number, tuple(item.name for item in loaded.checkables), loaded.diagnostics))
    for report in loaded.reports:
        outbox.send(Checked(number, -1, report))
    is_forking = can_fork() and threads_here() == 1
    reports = _reports(loaded, options, width, outbox) if is_forking else _in_turn(loaded, options, flight)
    for order, report in reports:
        outbox.send(Checked(number, order, report))


def _in_turn(loaded: Loaded, options: RunOptions, flight: Flight) -> Iterator[tuple[int, OpReport]]:
    """Check the ops in this process: it has threads (a user's), which a fork would leave in an unknown state."""
    for order, item in enumerate(loaded.checkables):
        flight.arm(options.timeout or math.inf)
        report = check_alone(item, options, flight)
        if isinstance(report, OpReport):
            yield order, report
    flight.arm(math.inf)


def _job(order: int, checkable: Checkable, options: RunOptions, stop_at: int = 0) -> Task:
    seconds = options.timeout or math.inf
    run = partial(check_in_child, checkable, options)
    return Task(order, run, seconds, options.memory, is_leader=False, stop_at=stop_at)


def _reports(loaded: Loaded, options: RunOptions, width: int, outbox: Outbox) -> Iterator[tuple[int, OpReport]]:
    """Check each op in a child of its own."""
    jobs = [_job(order, item, options) for order, item in enumerate(loaded.checkables)]
    done: set[int] = set()
    supervisor = Supervisor(width, private=(outbox.descriptor,))
    for order, message in supervisor.run(jobs):
        if isinstance(message, OpReport):
            done.add(order)
            yield order, message
        elif isinstance(message, Ended) and order not in done:
            item = loaded.checkables[order]
            find = partial(_replay, item, options, outbox)
            yield (
                order,
                report_of(item.name, item.directory, blame_death(message, options.limits, find), message.seconds),
            )


def _replay(checkable: Checkable, options: RunOptions, outbox: Outbox, number: int) -> UserCall | None:
    """Run a check again up to a call of a user's function, and return that call with its inputs."""
    supervisor = Supervisor(1, private=(outbox.descriptor,))
    for _, message in supervisor.run([_job(0, checkable, options, stop_at=number)]):
        if isinstance(message, UserCall):
            return message
    return None


def check_in_child(checkable: Checkable, options: RunOptions, outbox: Outbox) -> None:
    """Check one op in a child of a supervisor; send its report, or the call at which a replay stopped."""
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
