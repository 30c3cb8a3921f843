"""Apply: the rules that leave a wrong derivative undecided, in their order, and what each makes of a result.

Only turns results; what a rule asks of an op is in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from opkit.checker.excuses.classes import declared, narrower
from opkit.checker.excuses.compare_again import OutOfTimeError
from opkit.checker.excuses.guards import guarded
from opkit.checker.excuses.surrogates import surrogates, unread
from opkit.checker.excuses.ties import NOT_FINITE, placed, tied
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import CALLS_A_CASE

#: The sentence that says why, for each result by its index that a rule leaves undecided.
Excuse: TypeAlias = "Callable[[CheckSession, Mapping[int, CheckResult]], Mapping[int, str]]"

#: What says that a derivative is wrong; one that is not finite is excused at ties alone.
_DERIVATIVES = frozenset({"GC101", "GC102", "GC103", "GC104", "GC106", "GC150", "GC160", "GC161"})
_NO_TIME = "time ran out before it was known whether a surrogate, a guard or narrower values excuse it; raise --timeout"
#: A surrogate need not even be linear in dy.
_LINEAR = frozenset({"GC110", "GC111"})
_FOUND: tuple[Excuse, ...] = (unread, guarded, narrower, placed)


def excused(session: CheckSession, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results, the excused failures among them undecided, or passed where the class is declared.

    Args:
        session: of the check.
        results: what was found.
    """
    found, checkable = list(results), session.checkable
    if not checkable.has_gradient or not session.evaluators:
        return found
    if checkable.surrogate is None:
        _apply(session, found, surrogates, _DERIVATIVES | _LINEAR)
    is_given = checkable.cases is not None or bool(checkable.recorded)
    if is_given:
        _apply(session, found, declared, _DERIVATIVES, counts=False)
    elif checkable.infer is None:
        _apply(session, found, tied, _DERIVATIVES | NOT_FINITE)
    if is_given or checkable.infer is None:
        _apply(session, found, partial(narrower, is_declared=True), _DERIVATIVES, counts=False)
    for rule in _FOUND if not is_given and checkable.infer is None else ():
        _apply(session, found, rule, _DERIVATIVES)
    return found


def _apply(
    session: CheckSession, results: list[CheckResult], rule: Excuse, codes: frozenset[str], counts: bool = True
) -> None:
    """Turn what a rule excuses; what it had no time for is undecided: a verdict must not depend on a machine's load.

    Where the calls of one case would take longer than the clock a failure stands: no load explains that.

    Args:
        session: of the check.
        results: of the check, which are turned.
        rule: the rule.
        codes: that it may excuse.
        counts: whether what is excused is undecided, rather than a line.
    """
    failed = {index: item for index, item in enumerate(results) if item.status is Status.FAIL and item.code in codes}
    try:
        excused, is_late = (rule(session, failed) if failed else {}), False
    except OutOfTimeError:
        stands = session.options.clock < CALLS_A_CASE * session.call_seconds
        if stands and _NO_TIME not in session.notes:
            session.notes.append(_NO_TIME)
        excused, is_late = ({} if stands else dict.fromkeys(failed, _NO_TIME)), True
    for index, why in excused.items():
        item = results[index]
        if rule is surrogates and session.checkable.infer is not None:  # others use an op without reading its kernel
            results[index] = item if is_late else replace(item, hint=item.hint or why)
            continue
        # Float32 rounds a guard's bound itself: that says nothing of the gradient.
        if not is_late and (item.code == "GC150" or not counts):
            session.notes.append(f"{item.message}; {why}" if counts else f"{why}: {_elsewhere(item)}")
            results[index] = replace(item, status=Status.PASS, message=why, hint="")
            continue
        open_ = replace(item, status=Status.UNDECIDED, message=f"{item.message}; {why}", beyond=True)
        results[index] = replace(open_, needs_more=rule is surrogates and not is_late)


def _elsewhere(item: CheckResult) -> str:
    """Say what a gradient is where it need not be the derivative, in words that accuse nobody."""
    if isinstance(item.expected, float) and isinstance(item.actual, float):
        return f"elsewhere the derivative is {item.expected:.6g} and backward gives {item.actual:.6g}"
    return item.message
