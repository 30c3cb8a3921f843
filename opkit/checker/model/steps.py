"""Steps: whether an output is a step of an input: flat, but for jumps.

Calls forward at moved inputs; what follows from it is for others to say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.model.agreement import is_close
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.numbers import resolution_of, typical
from opkit.checker.model.thresholds import FEW, LEAST_SCALE


def is_step(ev: Evaluator, leaf: InputLeaf, slot: int) -> bool:
    """Return whether small moves that its dtype shows leave an output as it is, but for the few that meet a jump."""
    array = ev.array(leaf)
    rng = np.random.default_rng(FEW)
    eps = max(map(resolution_of, (array, ev.outputs[slot])))
    scale, step, flat = typical(array) or 1.0, float(np.sqrt(eps)), 0
    for _ in range(FEW):
        point = array + LEAST_SCALE * scale * rng.uniform(-1, 1, array.shape)
        near = point + step * scale * rng.choice([-1.0, 1.0], array.shape)
        first, second = (result_at(ev, leaf, item, slot) for item in (point, near))
        flat += first is not None and second is not None and is_close(first, second)
    return 2 * flat > FEW


def result_at(ev: Evaluator, leaf: InputLeaf, array: ndarray, slot: int) -> ndarray | None:
    """Return an output for an input changed, None where forward does not take it."""
    try:
        found: Any = ev.forward(ev.replaced(leaf, frozen(array.astype(ev.array(leaf).dtype))))[slot]
    except Exception:  # user code
        return None
    return np.array(found)
