"""Supposed: a gradient that is wrong in general and right on the values that it may be written for is undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from opkit.checker.model.case import Case, plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, OpReport, Status
from opkit.checker.model.supposition import Supposition
from opkit.checker.model.thresholds import SUPPOSED_CASES, SUPPOSED_SETTINGS


def supposed(
    checkable: Checkable,
    cases: Sequence[Case],
    results: Sequence[CheckResult],
    options: Options,
    check: Callable[[Checkable, Options], OpReport],
) -> list[CheckResult]:
    """Return results whose failures are undecided where the op holds on the values of a supposition.

    Args:
        checkable: the op, whose cases were searched.
        cases: that were found.
        results: of the check.
        options: of the run.
        check: the engine's.
    """
    failed = [item for item in results if item.status is Status.FAIL]
    if not failed or checkable.cases is not None or checkable.recorded:
        return list(results)
    codes = frozenset(item.code for item in failed)
    for supposition in checkable.suppositions:
        if not _may_excuse(supposition, failed):
            continue
        changed = ((case, supposition.change(case.inputs)) for case in cases)
        meant = [replace(case, inputs=inputs) for case, inputs in changed if inputs]
        if not meant or not supposition.is_fair(meant[0]):
            continue
        other = replace(checkable, recorded=tuple(_telling(meant)), beyond=None, suppositions=())
        report = check(other, replace(options, select=codes, power=False, recorded_only=True))
        if report.status is Status.PASS:
            return [_excused(item, supposition) if item.status is Status.FAIL else item for item in results]
    return list(results)


def _telling(cases: Sequence[Case]) -> list[Case]:
    """Return the first cases, and the first of each further setting of the options: one may be wrong everywhere."""
    others: dict[str, Case] = {}
    for case in cases:
        others.setdefault(repr(plain(case.attrs)), case)
    first = list(cases[:SUPPOSED_CASES])
    return first + [case for case in others.values() if case not in first][:SUPPOSED_SETTINGS]


def _may_excuse(supposition: Supposition, failed: Sequence[CheckResult]) -> bool:
    if any(item.code not in supposition.excuses for item in failed):
        return False
    own = supposition.input
    return not own or all((item.input or "").partition("[")[0] not in ("", own) for item in failed)


def _excused(item: CheckResult, supposition: Supposition) -> CheckResult:
    message = (
        f"{item.message}; it holds where {supposition.text}: if that is meant, raise in forward elsewhere, or name "
        "such inputs in a cases function"
    )
    return replace(item, status=Status.UNDECIDED, message=message, beyond=True)
