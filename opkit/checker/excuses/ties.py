"""Ties: failures that are there only where whole numbers coincide, or where truth values are all alike.

Two points of a mesh that are one, a row of which a mask leaves nothing: special beside values that differ (rule 5). A
wrong number at repeated places is none of these, for places repeat in every scatter, unless the places can be nothing
but an order (decision 0019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.excuses.compare_again import again, holds, meant, said_of, shown, telling
from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import frozen
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.search.answers import answer_of

#: What says that a gradient is not finite; repeated places that are overwritten give finite ones.
NOT_FINITE = frozenset({"GC105", "GC201"})


def tied(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse what holds where truth values are mixed and is flat elsewhere; of whole numbers, what is not finite.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    excused: dict[int, str] = {}
    not_finite = {index: item for index, item in failed.items() if item.code in NOT_FINITE}
    # Along a direction of many elements what forward does not read may be some of them.
    unread = {index: item for index, item in failed.items() if item.code == "GC102" or is_flat(item)}
    for bring, kinds, some, text in (
        (_mixed, "b", unread, "no row of {} is all true or all false"),
        (_apart, "iu", not_finite, "the numbers along each axis of {} differ"),
    ):
        failing = shown(some)
        inputs = failing[0].inputs if failing else ()
        names = [name for name in inputs if all(_holds(case.inputs[name], kinds) for case in failing)]
        alike = (case for case in telling(session, some) if all(_holds(case.inputs[name], kinds) for name in names))
        cases = _brought(alike, names, bring) if names else ()
        results = again(session, session.checkable, list(cases), some)
        if holds(results):
            excused |= said_of(some, results, meant(f"where {text.format(' and '.join(names))}"))
    return excused


def placed(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse what holds where whole numbers are the places along an axis, each once, if nothing else can be meant.

    Forward takes no number from as many as there are on, and refuses one place more, or backward does not answer it:
    a gather, which is wrong for places that repeat, answers any number of them.
    """
    failing = shown(failed)
    names = [name for name, value in failing[0].inputs.items() if _holds(value, "iu")] if failing else []
    if len(names) != 1:
        return {}
    cases = [
        case
        for case in telling(session, failed)
        if any(case is one for one in failing) or case.inputs[names[0]].size > 1
    ]
    if not all(_is_order(session, case, names[0]) for case in cases):
        return {}
    results = again(session, session.checkable, list(_brought(cases, names, _turned)), failed)
    said = f"where {names[0]} holds each place along its last axis once"
    return said_of(failed, results, meant(said)) if holds(results) else {}


def _is_order(session: CheckSession, case: Case, name: str) -> bool:
    """Return whether the whole numbers of a case are places, of which there are neither fewer nor more."""
    array = case.inputs[name]
    if array.ndim != 1 or len(array) < 2:
        return False
    beyond, longer = (
        replace(case, inputs={**case.inputs, name: frozen(one)})
        for one in (np.append(array[1:], len(array)).astype(array.dtype), np.append(array, array[:1]))
    )
    if session.trial.probe(beyond).is_accepted:
        return False
    is_taken = session.trial.probe(longer).is_accepted
    return not is_taken or not answer_of(session.checkable, longer, compares=False).standing.is_answered


def _turned(array: ndarray, number: int) -> ndarray | None:
    """Return the places of an array, each once, in an order that is not its own inverse."""
    return np.roll(np.arange(len(array), dtype=array.dtype), 1) if len(array) > 2 else None


def is_flat(item: CheckResult) -> bool:
    """Return whether a failure may be of what a mask leaves nothing of: forward does not change there.

    A mask that leaves nothing out is an ordinary one.
    """
    return not isinstance(item.expected, float) or abs(item.expected) <= (item.bound or 0.0)


def _holds(value: object, kinds: str) -> bool:
    return isinstance(value, ndarray) and value.dtype.kind in kinds


def _brought(
    cases: Iterable[Case], names: list[str], bring: Callable[[ndarray, int], ndarray | None]
) -> Iterator[Case]:
    """Yield the cases in which all of these inputs can be brought into the class, so brought."""
    for case in cases:
        found = [bring(case.inputs[name], number) for number, name in enumerate(names)]
        made = {name: frozen(array) for name, array in zip(names, found) if array is not None}
        if len(made) == len(names):
            yield replace(case, inputs={**case.inputs, **made})


def mixed(array: ndarray) -> ndarray:
    """Return truth values of which every row of several has both."""
    found = array.copy()
    if array.ndim and array.shape[-1] > 1:
        found[..., 0] ^= found.all(axis=-1) | ~found.any(axis=-1)
    return np.asarray(found)


def _mixed(array: ndarray, number: int) -> ndarray | None:
    """Return the same, None where rows have one element: that is all true or all false."""
    return mixed(array) if array.ndim and array.shape[-1] > 1 else None


def _apart(array: ndarray, number: int) -> ndarray | None:
    """Return numbers of the same range that differ along each axis and from those of the other inputs."""
    least, count = (int(array.min()), int(np.ptp(array)) + 1) if array.size else (0, 0)
    if count < max(2, *array.shape):
        return None
    places = np.indices(array.shape).sum(axis=0) + number
    return np.asarray(least + places % count, array.dtype)
