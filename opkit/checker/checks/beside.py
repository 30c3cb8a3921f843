"""Beside: whether a wrong entry is one of exact values alone, such as zeros and equal ones, or of equal eigenvalues.

Moves the values of a case by next to nothing and looks again; what that makes of a failure is decided in gradient.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.directions import probe_leaf
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.ladder import Line
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.numbers import resolution_of, signed, typical
from opkit.checker.model.thresholds import FEW, NEGLIGIBLE, PLENTY, RATIO


def is_exact(ev: Evaluator, failure: EntryFailure) -> bool:
    """Return whether an element is a whole number, or equal to another one."""
    value = ev.array(failure.leaf).reshape(-1)[failure.element]
    return bool(value == np.round(value)) or is_tied(ev, failure)


def is_tied(ev: Evaluator, failure: EntryFailure) -> bool:
    """Return whether an element is equal to another one."""
    array = ev.array(failure.leaf).reshape(-1)
    return bool(np.count_nonzero(array == array[failure.element]) > 1)


def is_torn(ev: Evaluator, failure: EntryFailure) -> bool:
    """Return whether slopes along two directions do not add up, however short the steps: several elements tear forward.

    As at a matrix of equal eigenvalues, where the element alone has a slope, the same on both sides, and forward has no
    derivative.
    """
    if failure.kind is not Behaviour.REGULAR or failure.code == "GC106":
        return False
    array, entry = ev.array(failure.leaf), failure.entry
    own, other = np.zeros(array.shape), signed(np.random.default_rng(failure.element), array.shape)
    own.reshape(-1)[failure.element], other.reshape(-1)[failure.element] = 1.0, 0.0
    length = float(np.cbrt(resolution_of(array))) * float(scales_of(array)[failure.element])
    steps = length * RATIO ** -np.arange(FEW)

    def slopes(way: ndarray) -> ndarray:
        above, below = Line(ev, {failure.leaf: way}).ladder(steps)
        found: ndarray = (above - below)[0, :, entry] / (2 * steps)
        return found

    ways = np.stack([slopes(own), slopes(other), slopes(own + other)])
    noise = NEGLIGIBLE * np.abs(ways).max() + PLENTY * np.ptp(ways, axis=1).max()
    return bool(np.abs(ways[2] - ways[1] - ways[0]).min() > noise)


def is_right_beside(ev: Evaluator, failure: EntryFailure, share: float) -> bool:
    """Return whether backward is right for the element where all values are moved by next to nothing, or not at all."""
    rng = np.random.default_rng(failure.element)

    def moved(array: ndarray) -> ndarray:
        if array.dtype.kind != "f":
            return array
        shift: ndarray = array + (typical(array) or 1.0) * share * rng.uniform(-1, 1, array.shape)
        return shift.astype(array.dtype)

    try:
        other = Evaluator(ev.checkable, replace(ev.case, inputs=ev.map_inputs(moved))).prepare()
        support = np.zeros(other.array(failure.leaf).size, dtype=bool)
        support[failure.element] = True
        probe = probe_leaf(other, failure.leaf, rng, support.reshape(other.array(failure.leaf).shape))
    except Exception:  # user code: it takes these values alone
        return False
    return not probe.is_wrong and not probe.masked and np.isfinite(probe.bound)
