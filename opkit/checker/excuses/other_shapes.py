"""Other shapes: those at which a derivative is right that is wrong on some.

Finds them; what is said of them is decided by the rules, and no status depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from opkit.checker.excuses.compare_again import again
from opkit.checker.model.case import Case, first_of_each, plain
from opkit.checker.model.evaluate import input_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import FEW, SOME
from opkit.checker.search.kinds import is_plain, kind_of, shapes_of


def right_shapes(session: CheckSession, item: CheckResult) -> Iterator[Case]:
    """Yield a case whose shapes relate otherwise, where a derivative of one input and output is right throughout.

    Not where some inputs are no floats: of places and conditions the values decide, not the shapes.
    """
    case = wrong_case(item)
    if case is None or not 1 < len(case.floats) == len(case.arrays) or not session.is_found(case):
        return
    alike = [one for one in session.cases if plain(one.attrs) == plain(case.attrs) and max(one.sizes, default=0) > 1]
    every, _ = first_of_each(sorted(alike, key=lambda one: not is_plain(shapes_of(one))), kind_of)
    others = [one for one in every if kind_of(one) != kind_of(case)][:FEW]
    of_kinds = ((one, [each for each in alike if kind_of(each) == kind_of(one)][:SOME]) for one in others)
    yield from islice((one for one, cases in of_kinds if _vary(cases) and is_right(session, item, cases)), 1)


def _vary(cases: Sequence[Case]) -> bool:
    """Return whether each axis has several sizes: a sum over two steps alone may be right by chance."""
    return all(len({*sizes}) > 1 for sizes in zip(*(chain(*case.shapes) for case in cases)))


def wrong_case(item: CheckResult) -> Case | None:
    """Return the case on which a derivative of one input and output is wrong, None for any other result."""
    is_wrong = item.status is Status.FAIL and item.evidence is not None and bool(item.input and item.output)
    return item.evidence.case if is_wrong and item.evidence else None


def is_right(session: CheckSession, item: CheckResult, cases: Sequence[Case]) -> bool:
    """Return whether the derivative that a result is about is right on all of some other cases."""
    pair = input_of(item.input or ""), item.output
    compared = again(session, session.checkable, cases, {})
    return any(one.status is Status.PASS and (one.input, one.output) == pair for one in compared)
