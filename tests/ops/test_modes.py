"""Every built-in op gives bit-equal values and gradients in dynamic and in static mode, sizes known or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.ir import Program
from opkit.static import Executor, disable_static, enable_static, gradients, program_guard
from opkit.static.parameters import data
from tests.ops.cases import CASES, OpCase, arrays_of
from tests.ops.runs import outputs, tensors, weights_for

BY_NAME = pytest.mark.parametrize("case", CASES, ids=str)


def _differentiable(results: Sequence[Any]) -> list[int]:
    return [i for i, value in enumerate(results) if ops.dtype_of(value).kind == "f"]


def _dynamic(case: OpCase, arrays: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[Any]]:
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


def _static(case: OpCase, arrays: Sequence[np.ndarray], *, known: bool) -> tuple[list[np.ndarray], list[Any]]:
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
            exact = [value._data for value in outputs_in_dynamic(case, arrays)]
            weights = weights_for_arrays(exact)
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


def outputs_in_dynamic(case: OpCase, arrays: Sequence[np.ndarray]) -> list[Any]:
    """Return the outputs of a dynamic run, whatever mode is current."""
    disable_static()
    try:
        return outputs(case, [Tensor(array) for array in arrays])
    finally:
        enable_static()


def weights_for_arrays(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=array.shape) for array in arrays]


def _same(static: Any, dynamic: Any, what: str) -> None:
    assert (static is None) == (dynamic is None), what
    if static is not None:
        static, dynamic = np.asarray(static), np.asarray(dynamic)
        assert (static.shape, static.dtype) == (dynamic.shape, dynamic.dtype), what
        assert np.array_equal(static, dynamic, equal_nan=static.dtype.kind == "f"), what


@BY_NAME
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_static_equals_dynamic(case: OpCase, dtype: str) -> None:
    """With known sizes, each output and each gradient of a run is the dynamic one, bit for bit."""
    arrays = arrays_of(case, dtype)
    values, grads = _dynamic(case, arrays)
    static_values, static_grads = _static(case, arrays, known=True)
    for i, (a, b) in enumerate(zip(static_values, values)):
        _same(a, b, f"output {i}")
    for i, (a, b) in enumerate(zip(static_grads, grads)):
        _same(a, b, f"gradient {i}")


@BY_NAME
def test_sizes_may_be_unknown_until_the_run(case: OpCase) -> None:
    """With the sizes of the inputs -1, the same program gives the dynamic values and gradients."""
    arrays = arrays_of(case)
    values, grads = _dynamic(case, arrays)
    static_values, static_grads = _static(case, arrays, known=False)
    for i, (a, b) in enumerate(zip(static_values, values)):
        _same(a, b, f"output {i}")
    for i, (a, b) in enumerate(zip(static_grads, grads)):
        _same(a, b, f"gradient {i}")
