"""One op: one op checked in this process, whatever its functions do short of ending it; and what of it can be sent.

Which process this is, and what becomes of it, is decided elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from opkit.blind.frames import is_plain
from opkit.blind.marks import CHECKING
from opkit.checker import Checkable, CheckResult, OpReport, Status, check
from opkit.checker.model.case import plain
from opkit.checker.model.report import FatalCall
from opkit.checker.search.fatal import refusing
from opkit.replaced import keep_packages, put_back
from opkit.verify.codes import CRASH, EXIT, INTERNAL
from opkit.verify.failures.slopes import with_slopes
from opkit.verify.failures.store import FailureStore, former
from opkit.verify.isolation.announced_calls import Left, UserCall, Watch
from opkit.verify.isolation.blame import blame_left, blame_ourselves
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Flight, FlightStop, Phase
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Unmade
from opkit.verify.workers.confirm import Confirmation
from opkit.verify.workers.ledger import Begun, CheckDone, Checked

#: Called with each finished check.
Tell = Callable[[CheckResult], None]
#: Findings after which the process may not be what it was.
_CHANGED = frozenset({"GC198", INTERNAL.code})
#: Findings that a run makes by itself, and that end a process.
_DEATHS = frozenset({CRASH.code, EXIT.code})


def check_told(begun: Begun, op: Checkable | Unmade, options: RunOptions, outbox: Outbox) -> bool:
    """Check one op in this process, and send its report, and the calls that it leaves out.

    Each finished check is sent at once, for an op whose check does not reach its end.

    Returns:
        whether the process is as it was.
    """
    outbox.flight.enter(Phase.CHECKING)

    def tell(result: CheckResult) -> None:  # without its evidence: the arrays come with the report
        outbox.send(CheckDone(begun.target, begun.order, _sendable_result(replace(result, evidence=None))))

    def stopped(call: UserCall) -> None:
        outbox.send(call if is_plain(call) else replace(call, attrs=plain(call.attrs)))

    found = check_alone(op, options, outbox.flight, tell, stopped=stopped)
    if found is None or outbox.flight.is_unmet:
        return False
    outbox.send(Checked(begun.target, begun.order, sendable(found)))
    return not any(item.code in _CHANGED for item in found.findings)


def check_alone(
    op: Checkable | Unmade,
    options: RunOptions,
    flight: Flight,
    tell: Tell | None = None,
    passes: tuple[type[BaseException], ...] = (),
    is_ours: bool = True,
    stopped: Callable[[UserCall], None] | None = None,
    fatal: tuple[FatalCall, ...] = (),
) -> OpReport | None:
    """Check one op in this process.

    Args:
        op: the op.
        options: of the run; former failures are checked too where it says so. What it says of this op alone holds.
        flight: notified of each call of a user's function.
        tell: called with each finished check, as it is finished.
        passes: what a user's function may raise through the check, besides what the check itself handles.
        is_ours: this process serves opkit alone, so that it may be copied.
        stopped: called with each call in whose place the flight recorder stops the check, which begins again
            without it and those like it.
        fatal: these calls.

    Returns:
        The report; None where only the inputs of such a call were wanted.
    """
    options = options.for_op(op.name, op.directory)
    checkable = _made(op, options, flight, stopped) if isinstance(op, Unmade) else op
    if not isinstance(checkable, Checkable):
        return checkable
    options = replace(options, check=replace(options.check, clock=options.check.clock - checkable.spent))
    fatal = fatal or checkable.fatal
    if fatal:
        options = options.within(flight.left())
    refuse = refusing(fatal, bool(checkable.cases or checkable.recorded)) if fatal else None
    keep_packages(CHECKING)
    watch = Watch(flight, options.memory, passes, refuse)
    watched = replace(watch.over(checkable), fatal=fatal)
    started = time.perf_counter()
    confirmation = Confirmation(checkable, options, is_ours)
    try:
        report = _report(watched, options, tell, confirmation)
        # After the run, which knows nothing of them, and where as much time is left as it took: they are few cases.
        has_time = flight.left() > time.perf_counter() - started
        again = check_former(watched, options) if has_time else ()
        return offer(joined(report, again, time.perf_counter() - started), checkable)
    except FlightStop as at:
        call = watch.last.kept()
        if stopped is not None:
            stopped(call)
        if at.stop.finding is None:
            return None
        fatal = (*fatal, call.blamed(at.stop.finding))
    except (Left, Exception) as error:
        return _unjudged(checkable, error, watch.last, options, started)
    finally:
        confirmation.close()
        put_back()  # slopes are measured after the check
    return check_alone(checkable, options, flight, tell, passes, is_ours, stopped, fatal)


def _made(
    op: Unmade, options: RunOptions, flight: Flight, stopped: Callable[[UserCall], None] | None
) -> Checkable | OpReport | None:
    """Make an op of a function; what stands in the way is reported as what stops a check."""
    keep_packages(CHECKING)
    started = time.perf_counter()
    try:
        found = op.made()
    except FlightStop:
        if stopped is not None:
            stopped(UserCall(*flight.seen).kept())
        return None
    except (Left, Exception) as error:
        return _unjudged(op, error, UserCall(*flight.seen), options, started)
    finally:
        changed = put_back()
    if isinstance(found, OpReport):
        return replace(found, seconds=time.perf_counter() - started)
    return replace(found, changed=(*found.changed, *changed))


def _unjudged(
    op: Checkable | Unmade, error: Left | Exception, call: UserCall, options: RunOptions, started: float
) -> OpReport:
    left = Left(error) if isinstance(error, MemoryError) else error
    finding = blame_left(left, call, options.limits) if isinstance(left, Left) else blame_ourselves(left, call)
    return OpReport(op.name, (finding,), op.directory, time.perf_counter() - started)


def _report(checkable: Checkable, options: RunOptions, tell: Tell | None, confirmation: Confirmation) -> OpReport:
    if options.command == "sbp":
        from opkit.checker.claims.engine import check_claims  # gradcheck does without

        return check_claims(checkable, options.check, tell)
    return with_slopes(check(checkable, options.check, tell, confirmation), checkable)


def check_former(checkable: Checkable, options: RunOptions) -> tuple[CheckResult, ...]:
    """Check the inputs that failed in earlier runs; return the failures that are still there."""
    if not options.replay:
        return ()
    found: list[CheckResult] = []
    for failure in FailureStore(options.cache).of(checkable):
        given, asked = failure.case.inputs, options.check.shapes.items()
        has_shapes = all(getattr(given.get(name), "shape", shape) == tuple(shape) for name, shape in asked)
        if failure.code in _DEATHS or not has_shapes:
            continue
        once = replace(checkable, recorded=(failure.case,), cases=None, beyond=None, fatal=())
        settings = replace(options.check, select=frozenset({failure.code}), power=False)
        found += [item for item in check(once, settings).findings if former(item) == failure.key]
    return tuple(found)


def joined(report: OpReport, again: tuple[CheckResult, ...], seconds: float) -> OpReport:
    """Note the former failures that the run itself did not meet: no verdict depends on what an earlier run left."""
    known = {former(one) for item in report.findings for one in (item, *item.consequences)}
    missed = (item for item in again if former(item) not in known)
    notes = [f"on inputs of an earlier run, not of this one, {item.code} fails: {item.message}" for item in missed]
    return replace(report, notes=(*report.notes, *notes), seconds=seconds)


def offer(report: OpReport, checkable: Checkable) -> OpReport:
    """Add the command that writes cases where they may decide otherwise, and none say what is meant.

    So they may an undecided report; of a failure, one on inputs of several shapes.
    """
    word = report.dir if report.dir is not None else report.op.partition("#")[0]
    if report.dir is None and checkable.recorded:
        word = word.partition("::")[0]
    is_named = report.dir is not None or "::" in report.op
    if checkable.cases is not None or not is_named:
        return report
    command, note = f"opkit gradcheck {word} --write-cases writes", ""
    if report.status is Status.UNDECIDED:
        if any(item.status is Status.UNDECIDED and not item.needs_more for item in report.checks):
            note = f"{command} the inputs found as cases, which decide once they are corrected"
    elif checkable.infer is None and not checkable.recorded:
        found = [item.evidence.case for item in report.findings if item.evidence is not None]
        if any(case is not None and len(case.shapes) > 1 for case in found):
            which, shapes = "values", ""
            if not checkable.declares_shapes:
                shapes = ', annotate the parameters (Annotated[Any, "n d"]; float where a number is meant)'
                which = "shapes and values"
            note = (
                f"nothing declares the {which} of the inputs; where those of a failure are not meant, raise in "
                f"forward{shapes}, or correct the cases that {command}"
            )
    return replace(report, notes=(*report.notes, note)) if note else report


def sendable(report: OpReport) -> OpReport:
    """Return a report that can be read where the user's modules are not loaded: of plain data, where it is not so."""
    if is_plain(report):
        return report
    checks = tuple(_sendable_result(item) for item in report.checks)
    return replace(report, checks=checks, notes=tuple(map(str, report.notes)), tried=tuple(map(str, report.tried)))


def _sendable_result(item: CheckResult) -> CheckResult:
    """Return a result that can be read where the user's modules are not loaded."""
    if is_plain(item):
        return item
    evidence = None if item.evidence is None else replace(item.evidence, case=None)
    values = {"expected": plain(item.expected), "actual": plain(item.actual), "case": plain(item.case)}
    consequences = tuple(map(_sendable_result, item.consequences))
    made = replace(item, **values, evidence=evidence if is_plain(evidence) else None, consequences=consequences)
    if is_plain(made):
        return made
    message = f"{item.code} holds what cannot leave its process"
    return CheckResult.of(INTERNAL, Status.ERROR, message)
