"""Running a case in dynamic mode: values, gradients, and the scalar that gradient tests differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit import ops
from opkit.eager import Tensor, grad
from tests.ops.cases import OpCase


def tensors(arrays: Sequence[np.ndarray]) -> list[Tensor]:
    """Return Tensors; those of floats take a gradient."""
    return [Tensor(array, stop_gradient=array.dtype.kind != "f") for array in arrays]


def outputs(case: OpCase, values: Sequence[Any]) -> list[Any]:
    """Return the case's outputs as a list."""
    result = case.build(*values)
    return list(result) if isinstance(result, tuple) else [result]


def weights_for(results: Sequence[Any]) -> list[np.ndarray]:
    """Return fixed cotangents, one per output."""
    rng = np.random.default_rng(5)
    return [rng.normal(size=ops.shape_of(value)) for value in results]


def weighted(results: Sequence[Any], weights: Sequence[np.ndarray]) -> Any:
    """Return the sum of the float outputs times the weights, as a scalar value; None where none takes a gradient."""
    total = None
    for value, weight in zip(results, weights):
        if getattr(value, "_sg", False):
            continue
        part = ops.reduce_sum(ops.mul(value, Tensor(weight.astype(value._data.dtype))))
        total = part if total is None else ops.add(total, part)
    return total


def scalar_of(case: OpCase, arrays: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> float:
    """Return the same scalar in plain numpy, from a forward run."""
    results = outputs(case, [Tensor(array) for array in arrays])
    return float(sum((value._data * weight).sum() for value, weight in zip(results, weights)))


def gradients(case: OpCase, arrays: Sequence[np.ndarray], weights: Sequence[np.ndarray] | None = None) -> list[Any]:
    """Return one gradient array or None per input."""
    values = tensors(arrays)
    results = outputs(case, values)
    loss = weighted(results, weights or weights_for(results))
    wanted = [value for value in values if not value._sg]
    if loss is None:
        return [None] * len(values)
    found = iter(grad([loss], wanted, allow_unused=True))
    answers = [None if value._sg else next(found) for value in values]
    return [None if answer is None else answer._data for answer in answers]
