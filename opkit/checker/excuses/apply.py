"""Apply: the rules that leave a wrong derivative undecided, in their order, and what each makes of a result.

Only turns results; what a rule asks of an op is in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from opkit.checker.excuses.classes import declared, narrower
from opkit.checker.excuses.guards import guarded
from opkit.checker.excuses.surrogates import surrogates
from opkit.checker.excuses.ties import NOT_FINITE, tied
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import CALLS_A_CASE, MANY

#: The sentence that says why, for each result by its index that a rule leaves undecided.
Excuse: TypeAlias = "Callable[[CheckSession, Mapping[int, CheckResult]], Mapping[int, str]]"

#: What says that a derivative is wrong; one that is not finite is excused at ties alone.
_DERIVATIVES = frozenset({"GC101", "GC102", "GC103", "GC104", "GC106", "GC150", "GC160", "GC161"})
_NO_TIME = "left out to keep within the time set: whether a surrogate, a guard or narrower values excuse the failure"
#: A surrogate need not even be linear in dy.
_LINEAR = frozenset({"GC110", "GC111"})
_FOUND: tuple[Excuse, ...] = (guarded, narrower)


def excused(session: CheckSession, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results, the excused failures among them undecided, or passed where the class is declared.

    Args:
        session: of the check.
        results: what was found.
    """
    found, checkable = list(results), session.checkable
    if not checkable.has_gradient or not session.evaluators:
        return found
    if checkable.infer is None and checkable.surrogate is None:
        _apply(session, found, surrogates, _DERIVATIVES | _LINEAR)
    if checkable.cases is not None or checkable.recorded:
        for index, why in declared(session, _failed(found, _DERIVATIVES)).items():
            found[index] = _noted(session, found[index], why)
        return found
    if checkable.infer is None:
        _apply(session, found, tied, _DERIVATIVES | NOT_FINITE)
    for rule in _FOUND if checkable.infer is None else ():
        _apply(session, found, rule, _DERIVATIVES)
    return found


def _apply(session: CheckSession, results: list[CheckResult], rule: Excuse, codes: frozenset[str]) -> None:
    failed = _failed(results, codes)
    is_late = session.is_slow and not session.has_time(MANY)
    if failed and (is_late or session.rest().clock < CALLS_A_CASE * session.call_seconds):
        if _NO_TIME not in session.notes:
            session.notes.append(_NO_TIME)
        return
    for index, why in (rule(session, failed) if failed else {}).items():
        item = results[index]
        if item.code == "GC150":  # float32 rounds a guard's bound itself: that says nothing of the gradient
            results[index] = _noted(session, item, why)
            continue
        results[index] = replace(item, status=Status.UNDECIDED, message=f"{item.message}; {why}", beyond=True)


def _noted(session: CheckSession, item: CheckResult, why: str) -> CheckResult:
    """Return a result that counts no more, of which a line says what it was."""
    session.notes.append(f"{item.message}; {why}")
    return replace(item, status=Status.PASS, message=why)


def _failed(results: Sequence[CheckResult], codes: frozenset[str]) -> dict[int, CheckResult]:
    """Return the failures of these codes, by their index."""
    return {index: item for index, item in enumerate(results) if item.status is Status.FAIL and item.code in codes}
