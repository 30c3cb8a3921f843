"""Weighted: the gradient of a weighted sum of a function's results, by differences, element by element, with bounds.

For functions that have no gradient of their own; what is claimed is not known here.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.ladder import settle, steps_for
from opkit.checker.model.thresholds import MEASURED_ELEMENTS, RESOLUTION
from opkit.checker.model.types import ArrayMap


def weighted_gradient(function: ArrayMap, array: ndarray, weights: ndarray) -> tuple[ndarray, ndarray]:
    """Return the gradient of ``weights @ function(array)``, flat, and how far each element may be off.

    What is not measured, and what has no derivative, is NaN.

    Args:
        function: gives a vector of float64; what it raises leaves the domain.
        array: float64.
        weights: of the vector's elements.
    """
    size = array.size
    value, bound = np.full(size, np.nan), np.full(size, np.inf)
    elements = np.unique(np.linspace(0, size - 1, min(size, MEASURED_ELEMENTS)).astype(int))
    if not size:
        return value, bound
    base = function(array)
    moved = np.array(array, dtype=np.float64)
    flat = moved.reshape(-1)
    scales = scales_of(array)[elements]
    steps = steps_for(scales)

    def change() -> float:
        try:
            found = function(moved)
        except Exception:  # user code: a raise leaves the domain
            return float("nan")
        return float(weights @ (found - base)) if found.shape == base.shape else float("nan")

    values = np.empty((2, *steps.shape, 1))
    reached = np.empty((2, *steps.shape))
    for row, element in enumerate(elements.tolist()):
        kept = flat[element]
        for side, sign in enumerate((1.0, -1.0)):
            for rung, step in enumerate(steps[row]):
                flat[element] = kept + sign * step
                values[side, row, rung, 0], reached[side, row, rung] = change(), sign * (flat[element] - kept)
        flat[element] = kept
    noise = RESOLUTION * float(np.sqrt(np.square(weights * base).sum()))
    found = settle(
        values[0], values[1], np.zeros(1), reached[0], reached[1], np.full(1, RESOLUTION), scales, np.full(1, noise)
    )
    is_smooth = (found.kind[:, 0] <= Behaviour.ONE_SIDED) & np.isfinite(found.bound[:, 0])
    value[elements] = np.where(is_smooth, found.value[:, 0], np.nan)
    bound[elements] = found.bound[:, 0]
    return value, bound
