"""A case run in dynamic and in static mode: its outputs and gradients, and whether two of them are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.ir import Program
from opkit.static import Executor, disable_static, enable_static, gradients, program_guard
from opkit.static.parameters import data
from tests.ops.cases import OpCase
from tests.ops.runs import outputs, tensors, weights_for

__all__ = ["dynamic", "same", "static"]


def _differentiable(results: Sequence[Any]) -> list[int]:
    return [i for i, value in enumerate(results) if ops.dtype_of(value).kind == "f"]


def dynamic(case: OpCase, arrays: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[Any]]:
    """Return a case's outputs and gradients in dynamic mode."""
    values = tensors(arrays)
    results = outputs(case, values)
    weights = weights_for(results)
    wanted = [value for value in values if not value._sg]
    goals = [i for i in _differentiable(results) if not results[i]._sg]
    found: list[Any] = [None] * len(wanted)
    if goals:
        seeds = [Tensor(weights[i].astype(results[i]._data.dtype)) for i in goals]
        found = grad([results[i] for i in goals], wanted, seeds, allow_unused=True)
    return [value._data for value in results], [None if value is None else value._data for value in found]


def static(case: OpCase, arrays: Sequence[np.ndarray], *, known: bool) -> tuple[list[np.ndarray], list[Any]]:
    """Return a case's outputs and gradients in static mode, with the sizes of its inputs known or not."""
    main, startup = Program(), Program()
    enable_static()
    try:
        with program_guard(main, startup):
            values = []
            for i, array in enumerate(arrays):
                is_known = known or (case.unknown is not None and i not in case.unknown)
                shape = array.shape if is_known else (-1,) * array.ndim
                variable = data(f"x{i}", shape, array.dtype.name)
                variable.stop_gradient = array.dtype.kind != "f"
                values.append(variable)
            results = outputs(case, values)
            exact = [value._data for value in _outputs_in_dynamic(case, arrays)]
            weights = _weights_for_arrays(exact)
            wanted = [value for value in values if not value.stop_gradient]
            goals = [i for i in _differentiable(results) if not results[i].stop_gradient]
            found: list[Any] = [None] * len(wanted)
            if goals and wanted:
                seeds = [ops.literal(weights[i].astype(ops.dtype_of(results[i]))) for i in goals]
                found = gradients([results[i] for i in goals], wanted, seeds)
        feed = {f"x{i}": array for i, array in enumerate(arrays)}
        fetches = [*results, *[item for item in found if item is not None]]
        run = Executor().run(main, feed, fetches)
    finally:
        disable_static()
    count = len(results)
    rest = iter(run[count:])
    return run[:count], [None if item is None else next(rest) for item in found]


def _outputs_in_dynamic(case: OpCase, arrays: Sequence[np.ndarray]) -> list[Any]:
    disable_static()
    try:
        return outputs(case, [Tensor(array) for array in arrays])
    finally:
        enable_static()


def _weights_for_arrays(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=array.shape) for array in arrays]


def same(first: Any, second: Any, what: str) -> None:
    """Assert that two results are the same bit for bit, NaN being NaN."""
    assert (first is None) == (second is None), what
    if first is not None:
        first, second = np.asarray(first), np.asarray(second)
        assert (first.shape, first.dtype) == (second.shape, second.dtype), what
        assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f"), what
