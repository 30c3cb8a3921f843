"""Defaults: what is said of a wrong derivative that is right with the default of an option.

Adds words to failures; no status changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from opkit.checker.excuses.compare_again import OutOfTimeError, again
from opkit.checker.model.case import plain
from opkit.checker.model.evaluate import input_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.verdict import unused


def with_defaults(session: CheckSession, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results, with the option that decides in the words of each derivative that is wrong at another value.

    Args:
        session: of the check.
        results: of the check, excused where a rule does.
    """
    found = list(results)
    with suppress(OutOfTimeError):
        for index, item in enumerate(results):
            for name in _deciding(session, item):
                default = repr(plain(session.checkable.default_attrs[name]))
                message = f"{item.message}; it holds at {name} = {default}, the default"
                found[index] = replace(item, message=message, hint=unused([name]))
    return found


def _deciding(session: CheckSession, item: CheckResult) -> Iterator[str]:
    """Yield the first option with whose default alone a derivative of one input and output is right."""
    case = None if item.evidence is None else item.evidence.case
    if item.status is not Status.FAIL or case is None or not (item.input and item.output):
        return
    pair = input_of(item.input), item.output
    for attr in session.checkable.attrs:
        if attr.is_required or attr.name not in case.attrs or plain(case.attrs[attr.name]) == plain(attr.default):
            continue
        usual = replace(case, attrs={**case.attrs, attr.name: attr.default})
        compared = again(session, session.checkable, [usual], {})
        if any(one.status is Status.PASS and (one.input, one.output) == pair for one in compared):
            yield attr.name
            return
