"""Power: faults planted in the user's own backward, to see which of them these settings would catch (GC190).

Wraps a Checkable and checks the wrapped one; the user's files are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.model.checkable import Checkable
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, OpReport, Status
from opkit.checker.model.thresholds import MUTANT_CHANGE
from opkit.checker.model.types import Arrays, Attrs, Gradients, Ran, Results
from opkit.record import record

#: (gradients, forward's inputs) -> gradients
Change: TypeAlias = "Callable[[dict[str, Any], Arrays], dict[str, Any]]"


@record
class Mutation:
    """A way to break a backward.

    Args:
        name: for the report.
        douts: changes the incoming gradients before the user's backward sees them.
        change: changes what it returned, given forward's inputs.
    """

    name: str
    douts: Callable[[list[ndarray]], list[ndarray]] | None = None
    change: Change | None = None


def _each(function: Callable[[ndarray, ndarray], ndarray]) -> Change:
    """Change every gradient by a function of it and of its input."""

    def change(gradients: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        return {name: _apply(function, value, arrays.get(name)) for name, value in gradients.items()}

    return change


def _apply(function: Callable[[ndarray, ndarray], ndarray], value: Any, array: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_apply(function, item, array[index]) for index, item in enumerate(value)]
    if not isinstance(value, (ndarray, np.generic)) or np.shape(value) != np.shape(array):
        return value
    return np.asarray(function(np.asarray(value), array), dtype=value.dtype)


def _tail(gradient: ndarray, _: ndarray) -> ndarray:
    changed: ndarray = gradient.copy()
    changed.reshape(-1)[-max(1, changed.size // 4) :] = 0
    return changed


def _one(gradient: ndarray, _: ndarray) -> ndarray:
    changed: ndarray = gradient.copy()
    if changed.size:
        changed.reshape(-1)[changed.size // 2] *= 1.01
    return changed


def _far(gradient: ndarray, array: ndarray) -> ndarray:
    return np.where(np.abs(array) > 2, 1.01 * gradient, gradient)


def _negative(gradient: ndarray, array: ndarray) -> ndarray:
    return np.where(array < 0, 0.0, gradient)


def _turned(gradient: ndarray, _: ndarray) -> ndarray:
    if gradient.ndim < 2 or gradient.shape[-1] != gradient.shape[-2]:
        return gradient
    turned: ndarray = gradient.swapaxes(-1, -2).copy()
    return turned


def _swapped(gradients: dict[str, Any], _: Arrays) -> dict[str, Any]:
    names = list(gradients)
    for first, second in pairwise(names):
        if np.shape(gradients[first]) == np.shape(gradients[second]) and gradients[first] is not None:
            return {**gradients, first: gradients[second], second: gradients[first]}
    return gradients


def _first_zero(gradients: dict[str, Any], _: Arrays) -> dict[str, Any]:
    name = next(iter(gradients), None)
    value = gradients.get(name) if name is not None else None
    return {**gradients, name: np.zeros_like(value)} if isinstance(value, ndarray) and name else gradients


def _spread(douts: list[ndarray]) -> list[ndarray]:
    return [np.full(item.shape, item.mean() if item.size else 0, item.dtype) for item in douts]


def _last_ignored(douts: list[ndarray]) -> list[ndarray]:
    return [*douts[:-1], np.zeros_like(douts[-1])] if len(douts) > 1 else douts


#: The standard faults, the gross ones first.
MUTATIONS: tuple[Mutation, ...] = (
    Mutation("sign", change=_each(lambda g, _: -g)),
    Mutation("zero for one input", change=_first_zero),
    Mutation("gradients swapped", change=_swapped),
    Mutation("factor 1.001", change=_each(lambda g, _: 1.001 * g)),
    Mutation("factor 1.000001", change=_each(lambda g, _: 1.000001 * g)),
    Mutation("shifted by one", change=_each(lambda g, _: np.roll(g, 1))),
    Mutation("zero tail", change=_each(_tail)),
    Mutation("one element off by 1 %", change=_each(_one)),
    Mutation("off by 1 % where |x| > 2", change=_each(_far)),
    Mutation("zero for negatives", change=_each(_negative)),
    Mutation("transposed", change=_each(_turned)),
    Mutation("dy squared", douts=lambda douts: [item * item for item in douts]),
    Mutation("|dy|", douts=lambda douts: [np.abs(item) for item in douts]),
    Mutation("dy averaged", douts=_spread),
    Mutation("last output's dy ignored", douts=_last_ignored),
    Mutation("rounded to float32", change=_each(lambda g, _: g.astype(np.float32))),
)


class _Broken:
    """The pullbacks of a Checkable with a mutation in them; notes whether the mutation ever changed anything."""

    def __init__(self, checkable: Checkable, mutation: Mutation) -> None:
        self.checkable, self.mutation = checkable, mutation
        self.mattered = False

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        outputs, pullback = self.checkable.run(arrays, attrs)

        def broken(douts: Results, needs: frozenset[str]) -> Gradients:
            mutation = self.mutation
            given = list(douts) if mutation.douts is None else mutation.douts(list(douts))
            if mutation.douts is not None:
                self.mattered |= any(not np.array_equal(one, other) for one, other in zip(given, douts))
            right = dict(pullback(given, needs))
            if mutation.change is None:
                return right
            wrong = mutation.change(right, arrays)
            self.mattered |= any(_differs(wrong.get(name), right[name]) for name in right)
            return wrong

        return outputs, broken


def _differs(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return any(_differs(first, second) for first, second in zip(one, other))
    if one is None or other is None:
        return one is not other
    return np.shape(one) != np.shape(other) or not np.allclose(one, other, MUTANT_CHANGE, 0.0, equal_nan=True)


def power(
    checkable: Checkable, options: Options, check: Callable[[Checkable, Options], OpReport]
) -> Iterator[CheckResult]:
    """GC190: check the op with each standard mutation planted in its backward."""
    settings = replace(options, power=False, second_order=False)
    caught, missed, idle = [], [], []
    for mutation in MUTATIONS:
        broken = _Broken(checkable, mutation)
        wrapped = replace(checkable, vjp=broken.vjp, trace=None, runners={}, second=None, afresh=None)
        report = check(wrapped, settings)
        if not broken.mattered:
            idle.append(mutation.name)
        elif report.status in (Status.FAIL, Status.ERROR):
            caught.append(mutation.name)
        else:
            missed.append(mutation.name)
    text = f"{len(caught)} of {len(caught) + len(missed)} planted faults would be caught"
    if missed:
        text += f"; missed: {', '.join(missed)}"
    if idle:
        text += f"; changed nothing here: {', '.join(idle)}"
    status = Status.UNDECIDED if missed else Status.PASS
    where = checkable.backward_where or checkable.forward_where
    yield CheckResult(
        "power", status, "GC190", text, where=where, expected=len(caught) + len(missed), actual=len(caught)
    )
