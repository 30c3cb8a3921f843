"""Ties: failures that are there only where whole numbers coincide, or where truth values are all alike.

Two points of a mesh that are one, a row of which a mask leaves nothing: special beside values that differ (rule 5). A
wrong number at repeated places is none of these: places repeat in every scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.excuses.compare_again import again, holds, meant, said_of, telling
from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import frozen
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession

#: What says that a gradient is not finite; repeated places that are overwritten give finite ones.
NOT_FINITE = frozenset({"GC105", "GC201"})


def tied(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse what holds where truth values are mixed; where whole numbers differ, what is not finite elsewhere.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    excused: dict[int, str] = {}
    not_finite = {index: item for index, item in failed.items() if item.code in NOT_FINITE}
    for bring, kinds, some, text in (
        (_mixed, "b", failed, "the values of {} are not all alike"),
        (_apart, "iu", not_finite, "the numbers along each axis of {} differ"),
    ):
        cases = telling(session, some) if some else []
        inputs = cases[0].inputs if cases else ()
        names = [name for name in inputs if all(_holds(case.inputs[name], kinds) for case in cases)]
        results = again(session, session.checkable, list(_brought(cases, names, bring)) if names else [], some)
        if holds(results):
            excused |= said_of(some, results, meant(text.format(" and ".join(names))))
    return excused


def _holds(value: object, kinds: str) -> bool:
    return isinstance(value, ndarray) and value.dtype.kind in kinds


def _brought(cases: list[Case], names: list[str], bring: Callable[[ndarray, int], ndarray | None]) -> Iterator[Case]:
    """Yield the cases in which all of these inputs can be brought into the class, so brought."""
    for case in cases:
        found = [bring(case.inputs[name], number) for number, name in enumerate(names)]
        made = {name: frozen(array) for name, array in zip(names, found) if array is not None}
        if len(made) == len(names):
            yield replace(case, inputs={**case.inputs, **made})


def _mixed(array: ndarray, number: int) -> ndarray | None:
    """Return truth values of which every row has both."""
    if not array.ndim or array.shape[-1] < 2:
        return None
    found = array.copy()
    found[..., 0] ^= found.all(axis=-1) | ~found.any(axis=-1)
    return np.asarray(found)


def _apart(array: ndarray, number: int) -> ndarray | None:
    """Return numbers of the same range that differ along each axis and from those of the other inputs."""
    least, count = (int(array.min()), int(np.ptp(array)) + 1) if array.size else (0, 0)
    if count < max(2, *array.shape):
        return None
    places = np.indices(array.shape).sum(axis=0) + number
    return np.asarray(least + places % count, array.dtype)
