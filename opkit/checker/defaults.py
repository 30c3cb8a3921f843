"""Defaults: what is said of a wrong derivative that is right with the default of an option, or for other shapes.

Adds words to failures; no status changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.excuses.compare_again import OutOfTimeError
from opkit.checker.excuses.other_shapes import is_right, right_shapes, wrong_case
from opkit.checker.excuses.ties import mixed
from opkit.checker.model.case import Case, plain
from opkit.checker.model.evaluate import frozen, mapped
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import SOME
from opkit.checker.search.kinds import kind_of, setting_of
from opkit.checker.search.unserved import described
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
            for where, hint in chain(_deciding(session, item), _mixed(session, item)):
                found[index] = replace(item, message=f"{item.message}; it holds {where}", hint=hint or item.hint)
                break
            else:
                for case in right_shapes(session, item):
                    found[index] = replace(item, message=f"{item.message}; it holds for {described(case)}")
    return found


def _deciding(session: CheckSession, item: CheckResult) -> Iterator[tuple[str, str]]:
    """Yield where a derivative of one input and output is right for what an option is, and what that suggests.

    At its default alone, or where no whole number among the inputs is the option's value, as a label to ignore is.
    """
    case = wrong_case(item)
    if case is None:
        return
    for attr in session.checkable.attrs:
        name, default, value = attr.name, attr.default, case.attrs.get(attr.name)
        if attr.is_required or name not in case.attrs or plain(value) == plain(default):
            continue
        usual = replace(case, attrs={**case.attrs, name: default})
        if not is_right(session, item, [usual]):
            continue
        alike = [one for one in session.cases if kind_of(one) == kind_of(case) and not one.is_extreme]
        others = [one for one in alike if plain(one.attrs) == plain(usual.attrs)]
        marked = _renumbered(session, usual, value, default)
        if is_right(session, item, [usual, *marked, *sorted(others, key=lambda one: one.regime != "marked")[:SOME]]):
            yield f"at {name} = {plain(default)!r}, the default, on these and like inputs", unused([name])
        for other in _numbers(case)[_numbers(case) != value][:1] if marked else ():
            others = [one for one in alike if plain(one.attrs) == plain(case.attrs)][:SOME]
            without = [made for one in (case, *others) for made in _renumbered(session, one, value, int(other))]
            if is_right(session, item, without):
                yield f"where no whole number among the inputs is {value!r}, as {name} is", ""


def _mixed(session: CheckSession, item: CheckResult) -> Iterator[tuple[str, str]]:
    """Yield the same where a derivative is right once every row of a mask has both truth values."""
    case = wrong_case(item)
    if case is None or not any(array.dtype.kind == "b" for array in case.arrays):
        return
    alike = [one for one in session.cases if (kind_of(one), setting_of(one)) == (kind_of(case), setting_of(case))]
    every = (case, *[one for one in alike if not one.is_extreme][:SOME])
    cases = [replace(one, inputs=mapped(one.inputs, _with_both)) for one in every]
    if is_right(session, item, cases):
        names = [name for name, value in case.inputs.items() if isinstance(value, ndarray) and value.dtype.kind == "b"]
        yield f"where no row of {' and '.join(names)} is all true or all false", ""


def _with_both(array: Any) -> Any:
    return frozen(mixed(array)) if array.dtype.kind == "b" else array


def _numbers(case: Case) -> ndarray:
    """Return the whole numbers among the inputs of a case."""
    return np.concatenate([np.zeros(0), *(array.ravel() for array in case.arrays if array.dtype.kind in "iu")])


def _renumbered(session: CheckSession, case: Case, old: Any, new: Any) -> list[Case]:
    """Return a case with another whole number in the place of one, [] where there is none, or forward refuses it."""

    def changed(array: Any) -> Any:
        takes = array.dtype.kind in "iu" and np.can_cast(np.min_scalar_type(new), array.dtype)
        return frozen(np.where(array == old, array.dtype.type(new), array)) if takes else array

    if not type(old) is type(new) is int or old not in _numbers(case):
        return []
    made = replace(case, inputs=mapped(case.inputs, changed))
    return [made] if session.trial.probe(made).is_accepted else []
