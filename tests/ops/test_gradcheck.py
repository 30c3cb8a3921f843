"""Every built-in op's gradient passes the same checker that users' ops go through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Case, Checkable, Options, Status, check
from opkit.eager import Tensor, grad
from tests.ops.cases import CASES, OpCase, arrays_of
from tests.ops.runs import outputs, tensors

DIFFERENTIABLE = [case for case in CASES if case.has_gradient]


def checkable(case: OpCase) -> Checkable:
    """Return a case as the checker wants it: arrays in, arrays out."""
    arrays = arrays_of(case)
    names = [f"x{i}" for i in range(len(arrays))]
    results = outputs(case, tensors(arrays))

    def forward(given: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        return [value._data for value in outputs(case, tensors([given[name] for name in names]))]

    def backward(
        given: Mapping[str, Any],
        made: Sequence[np.ndarray],
        douts: Sequence[np.ndarray],
        attrs: Mapping[str, Any],
        needs: frozenset[str],
    ) -> dict[str, Any]:
        values = tensors([given[name] for name in names])
        found = outputs(case, values)
        goals = [(value, Tensor(dout)) for value, dout in zip(found, douts) if not value._sg]
        wanted = [name for name, value in zip(names, values) if not value._sg]
        inputs = [value for value in values if not value._sg]
        if not goals:
            return {}
        grads = grad([goal for goal, _ in goals], inputs, [dout for _, dout in goals], allow_unused=True)
        return {
            name: np.zeros_like(value._data) if item is None else item._data
            for name, value, item in zip(wanted, inputs, grads)
        }

    return Checkable(
        case.name,
        tuple(Arg(name) for name in names),
        tuple(Arg(f"y{i}") for i in range(len(results))),
        forward,
        backward,
        recorded=(Case(dict(zip(names, arrays)), {}, "user", 0, "user", case.name),),
        gradients=frozenset(name for name, array in zip(names, arrays) if array.dtype.kind == "f"),
        nondifferentiable_outputs=frozenset(f"y{i}" for i, value in enumerate(results) if value._sg),
    )


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_the_checker_finds_no_fault(case: OpCase) -> None:
    """No check fails and the Jacobian is not undecided."""
    report = check(checkable(case), Options(effort=0.2, seconds=5, second_order=False))
    faults = [result for result in report.checks if result.status in (Status.FAIL, Status.ERROR)]
    assert not faults, "\n".join(f"{item.code} {item.check}: {item.message}" for item in faults)
    assert report.status is not Status.ERROR
