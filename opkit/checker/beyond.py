"""Beyond: what an op does near the inputs that a recorded run saw, where no case says what it is for.

Runs the same checks on searched neighbours; what fails only there is undecided, never a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from opkit.checker.model.case import Case, plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import Check, CheckSession
from opkit.checker.model.thresholds import FEW


def beyond(session: CheckSession, check: Check) -> Iterator[CheckResult]:
    """Yield what fails near the recorded inputs, as undecided, and note what is not served there.

    Args:
        session: of the recorded op; on what was seen it holds.
        check: the engine's.
    """
    other, options = session.checkable.beyond, session.rest()
    if other is None or options.recorded_only:
        return
    report = check(other, replace(options, power=False, second_order=False))
    session.notes += [f"beyond the inputs seen, {report.unserved}"] if report.unserved else []
    bad = (
        item
        for item in report.checks
        if item.status is Status.FAIL or (item.beyond and item.status is Status.UNDECIDED)
    )
    for item in islice(bad, FEW):
        case = None if item.evidence is None else item.evidence.case
        changed = {} if case is None else _options(case, other)
        where = "" if case is None else _difference(case, changed, other)
        message = f"beyond the inputs seen{f' ({where})' if where else ''}: {item.message}"
        said = f"backward may not get the option {' and '.join(changed)}, or not use it" if changed else ""
        yield replace(item, status=Status.UNDECIDED, message=message, hint=item.hint or said, beyond=True)


def _options(case: Case, other: Checkable) -> dict[str, str]:
    """Return the options of a case that no case seen has so, with their values; what no call named had its default."""
    defaults = {attr.name: attr.default for attr in other.attrs}
    seen = [{**defaults, **one.attrs} for one in other.seen]
    return {
        name: repr(plain(value))
        for name, value in case.attrs.items()
        if not any(name in one and plain(one[name]) == plain(value) for one in seen)
    }


def _difference(case: Case, options: Mapping[str, str], other: Checkable) -> str:
    """Say in a few words how a case differs from what was seen: options, shapes, or values."""
    if options:
        return ", ".join(f"{name} = {value}" for name, value in options.items())
    if case.shapes not in {one.shapes for one in other.seen}:
        return f"shapes {', '.join(str(list(shape)) for shape in case.shapes)}"
    return f"values: {case.regime}"
