"""Reference terms: slopes of a reference by differences, and what rounding adds to the sums that its results are.

Runs the reference alone; what the op gives, and what is made of the numbers, is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import Columns
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import typical, widened
from opkit.checker.model.reference import Reference
from opkit.checker.model.thresholds import SMALL_ARRAY
from opkit.checker.model.types import Arrays, Attrs, Results


def slopes(given: Reference, ev: Evaluator, arrays: Arrays, leaf: InputLeaf, douts: Results) -> tuple[ndarray, ndarray]:
    """Return the gradient of a reference's weighted results by differences, and how far each element may be off.

    What is not measured, and what has no derivative, is NaN.
    """
    base = np.zeros(1)

    def change(parts: ndarray) -> ndarray:
        total: ndarray = parts.sum(keepdims=True) - base
        return total

    base = change(_weighted(given, arrays, ev.attrs, douts))  # differences keep the digits
    columns = _columns(given, ev, arrays, leaf, douts, change)
    size = columns.flat.size
    values, bound = np.full(size, np.nan), np.full(size, np.inf)
    elements = np.unique(np.linspace(0, size - 1, min(size, SMALL_ARRAY)).astype(int))
    found = columns.estimate(elements, columns.scales)
    is_smooth = (found.kind[:, 0] <= Behaviour.ONE_SIDED) & np.isfinite(found.bound[:, 0])
    values[elements] = np.where(is_smooth, found.value[:, 0], np.nan)
    bound[elements] = found.bound[:, 0]
    return values.reshape(columns.array.shape), bound


def summed_result(given: Reference, ev: Evaluator, arrays: Arrays, douts: Results, index: int, element: int) -> float:
    """Return how far one element of a result may be off where additions round by a share of 1, infinity if unknown.

    Its terms are what each element of the inputs brings to it, slope times value, none counted as smaller than is
    typical of its input; see ``_rounded``.
    """
    seeds = [np.zeros(item.shape) for item in douts]
    seeds[index].flat[element] = 1.0
    try:
        if given.has_gradient:
            found = list(ev.by_leaf(given.run(arrays, ev.attrs, seeds, "float64")[1]).items())
        else:
            found = [(leaf, np.nan_to_num(slopes(given, ev, arrays, leaf, seeds)[0], nan=np.inf)) for leaf in ev.leaves]
    except Exception:  # user code
        return np.inf
    values = Evaluator(ev.checkable, replace(ev.case, inputs=arrays))
    terms = [
        (np.abs(slope) * np.maximum(np.abs(widened(values.array(leaf))), typical(values.array(leaf)))).ravel()
        for leaf, slope in found
        if slope is not None
    ]
    return _rounded(np.concatenate(terms)) if terms else np.inf


def summed_gradient(given: Reference, ev: Evaluator, arrays: Arrays, douts: Results, index: int, element: int) -> float:
    """Return the same of one element of a gradient: its terms are what each element of the results brings to it."""
    columns = _columns(given, ev, arrays, ev.leaves[index], douts, lambda parts: parts)
    found = columns.estimate(np.array([element]), columns.scales)
    value, bound = np.abs(found.value[0]), found.bound[0]
    return _rounded(np.where(value > bound, value, 0.0)) if np.isfinite(bound).all() else np.inf


def _rounded(terms: ndarray) -> float:
    """Return the root of the number of additions times all terms: no partial sum is larger than these together."""
    return float(np.sqrt(max(np.count_nonzero(terms) - 1, 0)) * terms.sum())


def _weighted(given: Reference, arrays: Arrays, attrs: Attrs, douts: Results) -> ndarray:
    results, _ = given.run(arrays, attrs, None, "float64")
    return np.concatenate([(weights * widened(item)).ravel() for weights, item in zip(douts, results)])


def _columns(
    given: Reference,
    ev: Evaluator,
    arrays: Arrays,
    leaf: InputLeaf,
    douts: Results,
    change: Callable[[ndarray], ndarray],
) -> Columns:
    def forward(arrays: Arrays, attrs: Attrs) -> Sequence[ndarray]:
        return [change(_weighted(given, arrays, attrs, douts))]

    alone = replace(ev.checkable, forward=forward, surrogate=None, nondifferentiable_outputs=frozenset())
    return Columns(Evaluator(alone, replace(ev.case, inputs=arrays)).prepare(), leaf)
