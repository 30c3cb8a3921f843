"""Beyond: what an op does near the inputs that a recorded run saw, where no case says what it is for.

Runs the same checks on searched neighbours; what fails only there is undecided, never a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

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
    bad = [
        item
        for item in report.checks
        if item.status is Status.FAIL or (item.beyond and item.status is Status.UNDECIDED)
    ]
    for item in bad[:FEW]:
        where = _difference(item, other)
        hint = item.hint or _hint(item, other)
        message = f"beyond the inputs seen{f' ({where})' if where else ''}: {item.message}"
        yield replace(item, status=Status.UNDECIDED, message=message, hint=hint, beyond=True)


def _hint(item: CheckResult, other: Checkable) -> str:
    """Return what an option that breaks a gradient suggests, "" where no option differs."""
    names = [] if item.evidence is None or item.evidence.case is None else list(_options(item.evidence.case, other))
    return f"backward may not get the option {' and '.join(names)}, or not use it" if names else ""


def _options(case: Case, other: Checkable) -> dict[str, str]:
    """Return the options of a case that no case seen has so, with their values; what no call named had its default."""
    defaults = {attr.name: attr.default for attr in other.attrs}
    seen = [{**defaults, **one.attrs} for one in other.seen]
    return {
        name: repr(plain(value))
        for name, value in case.attrs.items()
        if not any(name in one and plain(one[name]) == plain(value) for one in seen)
    }


def _difference(item: CheckResult, other: Checkable) -> str:
    """Say in a few words how a case differs from what was seen: options, shapes, or values."""
    case = None if item.evidence is None else item.evidence.case
    if case is None:
        return ""
    options = [f"{name} = {value}" for name, value in _options(case, other).items()]
    if options:
        return ", ".join(options)
    shapes = {one.shapes for one in other.seen}
    own = case.shapes
    if own not in shapes:
        return f"shapes {', '.join(str(list(shape)) for shape in own)}"
    return f"values: {case.regime}"
