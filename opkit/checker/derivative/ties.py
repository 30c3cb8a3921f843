"""Ties: gradients compared along directions that move equal values alike.

Along them ties stay ties, so that one correct answer is left where single elements have many.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.ladder import settle, steps_for
from opkit.checker.derivative.lines import Line
from opkit.checker.derivative.resolution import Looks
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import largest, resolution_of, signed
from opkit.checker.model.thresholds import (
    BOUNDS,
    FLOOR_SINGLE,
    GRID_ULPS,
    LITTLE,
    NEGLIGIBLE,
    PROMISE,
    STEPS,
    WHOLE_LADDER,
)


def compare_ties(
    evaluator: Evaluator,
    claimed: dict[InputLeaf, ndarray],
    single: ndarray,
    rng: Generator,
    known: set[int],
) -> list[EntryFailure]:
    """Compare along directions that move equal values alike: ties stay ties, so one correct answer is left."""
    arrays = [evaluator.array(leaf) for leaf in evaluator.leaves]
    pooled = np.concatenate([array.ravel().astype(np.float64) for array in arrays])
    _, places = np.unique(pooled, return_inverse=True)
    if places.max(initial=0) + 1 == pooled.size:
        return []
    rates = signed(rng, pooled.size)
    direction = rates[places.reshape(-1)] * max(float(np.abs(pooled).max()), 1 / 2)
    parts = np.split(direction, np.cumsum([array.size for array in arrays])[:-1])

    ways = {leaf: part.reshape(array.shape) for leaf, part, array in zip(evaluator.leaves, parts, arrays)}
    line = Line(evaluator, ways)
    resolution = resolution_of(arrays[0])
    steps, whole = (steps_for(np.ones(1), count, resolution)[:, :, None] for count in (STEPS, WHOLE_LADDER))
    plus, minus = line.ladder(steps.ravel())
    base = evaluator.value_at(evaluator.inputs)
    found = settle(plus, minus, base, steps, steps, evaluator.eps(), np.ones((1, 1)))
    matrix = np.concatenate([claimed[leaf] for leaf in evaluator.leaves], axis=1)
    actual, size = matrix @ direction, np.abs(matrix) @ np.abs(direction)
    tolerance = BOUNDS * found.bound[0] + np.where(single, FLOOR_SINGLE, PROMISE) * size
    grid = GRID_ULPS * evaluator.eps() * max(largest(base), evaluator.typical)
    tolerance += np.where(found.step[0] > 0, grid / found.step[0], 0.0)
    is_sure = (found.kind[0] == Behaviour.REGULAR) & np.isfinite(found.bound[0]) & np.isfinite(actual)
    is_sure &= NEGLIGIBLE * np.abs(actual) <= np.maximum(
        evaluator.natural() * np.abs(direction).max(), np.abs(found.value[0])
    )
    looks = Looks(*line.ladder(whole.ravel()), base, whole, whole, evaluator.eps())
    is_sure &= ~(looks.oscillate(found.value) | looks.have(actual[None], found.value))[0]
    wrong = is_sure & (np.abs(actual - found.value[0]) > tolerance) & (found.bound[0] <= LITTLE * size)
    return [
        EntryFailure.of(found, (0, entry), "GC106", evaluator.leaves[0], 0, float(actual[entry]))
        for entry in np.flatnonzero(wrong).tolist()
        if entry not in known
    ]
