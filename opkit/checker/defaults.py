"""Defaults: what is said of a wrong derivative that is right with the default of an option, or for other shapes.

Adds words to failures; no status changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from opkit.checker.excuses.compare_again import OutOfTimeError, again
from opkit.checker.model.case import Case, first_of_each, plain
from opkit.checker.model.evaluate import input_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import FEW, SOME
from opkit.checker.search.kinds import is_plain, kind_of, shapes_of
from opkit.checker.search.table import described
from opkit.checker.verdict import unused


def with_defaults(session: CheckSession, results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results, each wrong derivative with the option, or the shapes, at which it is right in its words.

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
                break
            else:
                for case in _other_shapes(session, item):
                    found[index] = replace(item, message=f"{item.message}; it holds for {described(case)}")
    return found


def _other_shapes(session: CheckSession, item: CheckResult) -> Iterator[Case]:
    """Yield a case whose shapes relate otherwise, where a derivative of one input and output is right throughout.

    Not where some inputs are no floats: of places and conditions the values decide, not the shapes.
    """
    case = _wrong(item)
    if case is None or not 1 < len(case.floats) == len(case.arrays) or not session.is_found(case):
        return
    alike = [one for one in session.cases if plain(one.attrs) == plain(case.attrs) and max(one.sizes, default=0) > 1]
    every, _ = first_of_each(sorted(alike, key=lambda one: not is_plain(shapes_of(one))), kind_of)
    others = [one for one in every if kind_of(one) != kind_of(case)][:FEW]
    of_kinds = ((one, [each for each in alike if kind_of(each) == kind_of(one)][:SOME]) for one in others)
    yield from islice((one for one, cases in of_kinds if _is_right(session, item, cases)), 1)


def _wrong(item: CheckResult) -> Case | None:
    """Return the case on which a derivative of one input and output is wrong, None for any other result."""
    is_wrong = item.status is Status.FAIL and item.evidence is not None and bool(item.input and item.output)
    return item.evidence.case if is_wrong and item.evidence else None


def _is_right(session: CheckSession, item: CheckResult, cases: list[Case]) -> bool:
    """Return whether the derivative that a result is about is right on all of some other cases."""
    pair = input_of(item.input or ""), item.output
    compared = again(session, session.checkable, cases, {})
    return any(one.status is Status.PASS and (one.input, one.output) == pair for one in compared)


def _deciding(session: CheckSession, item: CheckResult) -> Iterator[str]:
    """Yield the first option with whose default alone a derivative of one input and output is right."""
    case = _wrong(item)
    if case is None:
        return
    for attr in session.checkable.attrs:
        if attr.is_required or attr.name not in case.attrs or plain(case.attrs[attr.name]) == plain(attr.default):
            continue
        usual = replace(case, attrs={**case.attrs, attr.name: attr.default})
        if _is_right(session, item, [usual]):
            yield attr.name
            return
