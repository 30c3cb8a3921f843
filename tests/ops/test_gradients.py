"""Gradients of every built-in op against central differences, first and second order, and the adjoint identity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from tests.ops.cases import CASES, OpCase, arrays_of
from tests.ops.runs import gradients, outputs, scalar_of, tensors, weighted, weights_for

DIFFERENTIABLE = [case for case in CASES if case.has_gradient]
SMOOTH = [case for case in DIFFERENTIABLE if case.is_smooth]
STEP = 1e-6


def _moved(arrays: Sequence[np.ndarray], directions: Sequence[np.ndarray | None], step: float) -> list[np.ndarray]:
    return [array if d is None else array + step * d for array, d in zip(arrays, directions)]


def _directions(arrays: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    rng = np.random.default_rng(9)
    return [rng.normal(size=array.shape) if array.dtype.kind == "f" else None for array in arrays]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradient_is_the_derivative(case: OpCase) -> None:
    """Each element of each gradient equals the central difference."""
    arrays = arrays_of(case)
    weights = weights_for(outputs(case, tensors(arrays)))
    for k, found in enumerate(gradients(case, arrays, weights)):
        if arrays[k].dtype.kind != "f":
            assert found is None
            continue
        expected = np.zeros_like(arrays[k])
        for place in np.ndindex(arrays[k].shape):
            unit = np.zeros_like(arrays[k])
            unit[place] = 1.0
            plan: list[np.ndarray | None] = [unit if i == k else None for i in range(len(arrays))]
            upper = scalar_of(case, _moved(arrays, plan, STEP), weights)
            expected[place] = (upper - scalar_of(case, _moved(arrays, plan, -STEP), weights)) / (2 * STEP)
        actual = np.zeros_like(arrays[k]) if found is None else found
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-7, err_msg=f"input {k}")


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_backward_is_linear_in_the_cotangent(case: OpCase) -> None:
    """The gradient of 3 u - 2 v is 3 times that of u less 2 times that of v."""
    arrays = arrays_of(case)
    u = weights_for(outputs(case, tensors(arrays)))
    v = [np.cos(weight) for weight in u]
    both = gradients(case, arrays, [3 * a - 2 * b for a, b in zip(u, v)])
    for total, first, second in zip(both, gradients(case, arrays, u), gradients(case, arrays, v)):
        if total is not None:
            np.testing.assert_allclose(total, 3 * first - 2 * second, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_adjoint_identity(case: OpCase) -> None:
    """<w, J v> = <J^T w, v>, with J v from central differences of the outputs."""
    arrays = arrays_of(case)
    directions = _directions(arrays)
    weights = weights_for(outputs(case, tensors(arrays)))
    upper = scalar_of(case, _moved(arrays, directions, STEP), weights)
    lower = scalar_of(case, _moved(arrays, directions, -STEP), weights)
    found = gradients(case, arrays, weights)
    inner = sum((g * d).sum() for g, d in zip(found, directions) if g is not None and d is not None)
    assert inner == pytest.approx((upper - lower) / (2 * STEP), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_gradient_differentiates_again(case: OpCase) -> None:
    """The derivative of <gradient, u> by the inputs equals the central difference of the gradients along u."""
    arrays = arrays_of(case)
    directions = _directions(arrays)
    values = tensors(arrays)
    results = outputs(case, values)
    weights = weights_for(results)
    loss = weighted(results, weights)
    wanted = [value for value in values if not value._sg]
    if loss is None:
        return
    firsts = grad([loss], wanted, create_graph=True, retain_graph=True, allow_unused=True)
    moves = [d for d in directions if d is not None]
    total = None
    for first, move in zip(firsts, moves):
        if first is not None and not first._sg:
            part = ops.reduce_sum(ops.mul(first, Tensor(move)))
            total = part if total is None else ops.add(total, part)
    seconds = [None] * len(wanted) if total is None else grad([total], wanted, allow_unused=True)
    upper = gradients(case, _moved(arrays, directions, STEP), weights)
    lower = gradients(case, _moved(arrays, directions, -STEP), weights)
    pairs = [(u, low) for u, low, d in zip(upper, lower, directions) if d is not None]
    for value, second, (above, below) in zip(wanted, seconds, pairs):
        expected = np.zeros_like(value._data) if above is None else (above - below) / (2 * STEP)
        actual = np.zeros_like(value._data) if second is None else second._data
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-6)
