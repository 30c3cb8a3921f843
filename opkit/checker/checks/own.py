"""Own: the checks that a subject brings along, run on a few cases.

What they look for is their own business; here they are only run and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.own import Fault, OwnCheck
from opkit.checker.model.report import CheckResult, Evidence, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import CALLS_A_CHECK, FEW
from opkit.checker.model.types import Results


def own(session: CheckSession) -> Iterator[CheckResult]:
    """Run every check that the subject brings; the first fault of each code is reported."""
    few = session.diverse(FEW)
    for row, checks in groupby(session.checkable.own, lambda check: check.row):
        runs = [(check, ev, number) for check in checks for number, ev in enumerate(_cases_of(session, check, few))]
        found, done = None, 0
        for check, ev, number in runs:
            if found is not None and found.status is Status.FAIL:
                break
            # Each is asked on a case at least: a part of the clock is kept for that.
            if session.left() < 0 and (number or session.clock() < CALLS_A_CHECK * session.call_seconds):
                continue
            one = _first(session, check, ev, number)
            found = one if found is None or (one is not None and one.status is Status.FAIL) else found
            done += 1
        if found is not None:
            yield found
        elif runs:
            yield CheckResult.of(row, Status.PASS, cases=done)
        if done < len(runs) and session.left() < 0:
            session.left_out.append(f"{row.name.replace('_', ' ')} on {len(runs) - done} of them")


def _cases_of(session: CheckSession, check: OwnCheck, few: list[Evaluator]) -> list[Evaluator]:
    if check.is_extreme:
        return [ev for ev in session.evaluators if ev.case.is_extreme and not ev.case.is_empty]
    return session.ordinary() if check.is_thorough else few


def _first(session: CheckSession, check: OwnCheck, ev: Evaluator, number: int) -> CheckResult | None:
    douts = ev.drawn(session.rng(900 + number), 2)
    for fault in check.run(ev.inputs, ev.attrs, douts):
        if fault.is_line:
            line = f"not served: {fault.message}"
            if line not in session.notes:
                session.notes.append(line)
            continue
        return _result(session, check, ev, fault, douts)
    return None


def _result(session: CheckSession, check: OwnCheck, ev: Evaluator, fault: Fault, douts: Results) -> CheckResult:
    subject = session.checkable
    is_beyond = fault.is_beyond and ev.case.origin == "search"
    where = subject.forward_where if check.is_forward else subject.backward_where
    return CheckResult.of(
        check.row,
        Status.FAIL if fault.is_certain and not is_beyond else Status.UNDECIDED,
        fault.message,
        ev.case,
        input=fault.input or None,
        where=fault.where or where or subject.forward_where,
        evidence=Evidence(case=ev.case, douts=tuple(douts)),
        expected=fault.expected,
        actual=fault.actual,
        beyond=is_beyond,
        needs_more=not fault.is_certain,
    )
