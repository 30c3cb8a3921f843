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

from opkit.checker.model.agreement import same
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.numbers import is_square
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import Check
from opkit.checker.model.types import Arrays, Attrs, Gradients, Ran, Results
from opkit.listed import listed
from opkit.record import record

#: (gradients, forward's inputs) -> gradients
Change: TypeAlias = "Callable[[dict[str, Any], Arrays], dict[str, Any]]"


@record
class Mutation:
    """A way to break a backward.

    Args:
        name: for the report.
        change: changes what it returned, given forward's inputs.
        douts: changes the incoming gradients before the user's backward sees them.
    """

    name: str
    change: Change = lambda gradients, arrays: gradients
    douts: Callable[[list[ndarray]], list[ndarray]] = lambda douts: douts


def _each(name: str, function: Callable[[ndarray, ndarray], ndarray]) -> Mutation:
    """Change every gradient by a function of it and of its input."""

    def apply(value: Any, array: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return list(map(apply, value, array))
        if not isinstance(value, (ndarray, np.generic)) or np.shape(value) != np.shape(array):
            return value
        return np.asarray(function(np.asarray(value), array), dtype=value.dtype)

    return Mutation(
        name, lambda gradients, arrays: {key: apply(one, arrays.get(key)) for key, one in gradients.items()}
    )


def _places(array: ndarray) -> ndarray:
    return np.arange(array.size).reshape(array.shape)


def _turned(gradient: ndarray, _: ndarray) -> ndarray:
    return gradient.swapaxes(-1, -2) if is_square(gradient) else gradient


def _swapped(gradients: dict[str, Any], _: Arrays) -> dict[str, Any]:
    for first, second in pairwise(gradients):
        if np.shape(gradients[first]) == np.shape(gradients[second]) and gradients[first] is not None:
            return {**gradients, first: gradients[second], second: gradients[first]}
    return gradients


def _first_zero(gradients: dict[str, Any], _: Arrays) -> dict[str, Any]:
    return gradients | {name: np.zeros_like(one) for name, one in [*gradients.items()][:1] if isinstance(one, ndarray)}


#: The standard faults, the gross ones first.
MUTATIONS: tuple[Mutation, ...] = (
    _each("sign", lambda g, _: -g),
    Mutation("zero for one input", _first_zero),
    Mutation("gradients swapped", _swapped),
    _each("factor 1.001", lambda g, _: 1.001 * g),
    _each("factor 1.000001", lambda g, _: 1.000001 * g),
    _each("shifted by one", lambda g, _: np.roll(g, 1)),
    _each("zero tail", lambda g, _: np.where(_places(g) < g.size - max(1, g.size // 4), g, 0)),
    _each("one element off by 1 %", lambda g, _: np.where(_places(g) == g.size // 2, 1.01 * g, g)),
    _each("off by 1 % where |x| > 2", lambda g, x: np.where(np.abs(x) > 2, 1.01 * g, g)),
    _each("zero for negatives", lambda g, x: np.where(x < 0, 0.0, g)),
    _each("transposed", _turned),
    Mutation("dy squared", douts=lambda douts: [item * item for item in douts]),
    Mutation("|dy|", douts=lambda douts: [np.abs(item) for item in douts]),
    Mutation(
        "dy averaged", douts=lambda douts: [np.full_like(item, item.mean() if item.size else 0) for item in douts]
    ),
    Mutation("last output's dy ignored", douts=lambda douts: [*douts[:-1], douts[-1] * (len(douts) == 1)]),
    _each("rounded to float32", lambda g, _: g.astype(np.float32)),
)


class _Broken:
    """The pullbacks of a Checkable with a mutation in them; notes whether the mutation ever changed anything."""

    def __init__(self, checkable: Checkable, mutation: Mutation) -> None:
        self.checkable, self.mutation = checkable, mutation
        self.mattered = False

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        outputs, pullback = self.checkable.run(arrays, attrs)

        def broken(douts: Results, needs: frozenset[str]) -> Gradients:
            given = self.mutation.douts(list(douts))
            right = dict(pullback(given, needs))
            wrong = self.mutation.change(right, arrays)
            is_same = all(same(listed(wrong.get(name)), listed(right[name])) for name in right)
            self.mattered |= not (is_same and same(given, douts))
            return wrong

        return outputs, broken


def power(checkable: Checkable, options: Options, check: Check) -> Iterator[CheckResult]:
    """GC190: check the op with each standard mutation planted in its backward."""
    settings = replace(options, power=False, second_order=False)
    caught, missed, idle = list[str](), list[str](), list[str]()
    for mutation in MUTATIONS:
        broken = _Broken(checkable, mutation)
        wrapped = replace(checkable, vjp=broken.vjp, trace=None, runners={}, second=None, afresh=None)
        report = check(wrapped, settings)
        is_caught = report.status in (Status.FAIL, Status.ERROR)
        (idle if not broken.mattered else caught if is_caught else missed).append(mutation.name)
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
