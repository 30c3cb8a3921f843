"""Suppositions about inputs of which nothing is declared: labels of 0 and 1, shares of classes, symmetric matrices.

Names and shapes suggest them; whether a gradient rests on one is found out by the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opkit.checker import Case
from opkit.checker.model.supposition import Supposition

#: Words in the names of what a loss compares with.
_LABELS = frozenset(("label", "labels", "target", "targets", "truth", "gt", "mask", "onehot", "y"))

_Forward = Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[np.ndarray]]


def suppositions(forward: _Forward, inputs: Sequence[str], constants: frozenset[str]) -> Iterator[Supposition]:
    """Yield what inputs may be meant to hold.

    Args:
        forward: of the function.
        inputs: its inputs.
        constants: those that take no gradient.
    """
    for name in _labels_in(inputs, constants):
        yield Supposition(f"the values of {name} are 0 and 1", partial(_changed, name, _bits), name)
        yield Supposition(f"{name} sums to 1 over its last axis", partial(_changed, name, _shares), name)
    for name in inputs if len(inputs) > 1 else ():
        change = partial(_changed, name, _symmetric)
        yield Supposition(f"{name} is symmetric", change, name, partial(_is_even, forward, name))


def elementwise_labels(forward: _Forward, inputs: Sequence[str], constants: frozenset[str]) -> Iterator[Supposition]:
    """Yield that labels may be meant to hold 0 and 1 each of which is compared with the element at its place alone.

    Args:
        forward: of the function.
        inputs: its inputs.
        constants: those that take no gradient.
    """
    for name in _labels_in(inputs, constants):
        if name != inputs[0]:
            change, is_fair = partial(_changed, name, _bits), partial(_is_separate, forward, inputs[0], name)
            yield Supposition(f"the values of {name} are 0 and 1", change, name, is_fair)


def _labels_in(inputs: Sequence[str], constants: frozenset[str]) -> Iterator[str]:
    for name in inputs:
        if name in constants and any(word in _LABELS for word in name.lower().split("_")):
            yield name


def _changed(
    name: str, change: Callable[[np.ndarray], np.ndarray | None], inputs: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    value = inputs.get(name)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return None
    found = change(value)
    return None if found is None else {**inputs, name: found.astype(value.dtype)}


def _bits(array: np.ndarray) -> np.ndarray:
    found: np.ndarray = array > array.mean()
    return found


def _shares(array: np.ndarray) -> np.ndarray | None:
    if not array.ndim:
        return None
    sizes = np.abs(array) + np.finfo(array.dtype).tiny
    found: np.ndarray = sizes / sizes.sum(axis=-1, keepdims=True)
    return found


def _symmetric(array: np.ndarray) -> np.ndarray | None:
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] < 2:
        return None
    found: np.ndarray = (array + np.swapaxes(array, -1, -2)) / 2
    return found


def _is_even(forward: _Forward, name: str, case: Case) -> bool:
    """Say whether forward gives the same for a matrix and its transpose, so that only its symmetric part counts."""
    rng = np.random.default_rng(0)
    matrix = case.inputs[name] * rng.uniform(0.5, 1.5, np.shape(case.inputs[name]))
    try:
        one = forward({**case.inputs, name: matrix}, case.attrs)
        other = forward({**case.inputs, name: np.ascontiguousarray(np.swapaxes(matrix, -1, -2))}, case.attrs)
    except Exception:  # user code
        return False
    return all(np.allclose(first, second) for first, second in zip(one, other))


def _is_separate(forward: _Forward, first: str, name: str, case: Case) -> bool:
    """Say whether what an element of the first input adds does not depend on the labels at other places.

    Both ascend, so that what belongs together otherwise, as the corners of boxes do, meets.
    """
    shape = np.shape(case.inputs[first])
    if shape != np.shape(case.inputs[name]) or np.prod(shape) < 2:
        return False
    array = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
    labels = 0.95 * array + 0.01
    moved = array.copy()
    moved.flat[0] += 0.05

    def added(held: np.ndarray) -> list[np.ndarray]:
        ends = [forward({**case.inputs, first: one, name: held}, case.attrs) for one in (moved, array)]
        return [np.asarray(above) - np.asarray(below) for above, below in zip(*ends)]

    try:
        before = added(labels)
        for place in (1, array.size - 1):
            turned = labels.copy()
            turned.flat[place] += 0.05
            if not all(np.allclose(one, other, atol=1e-9) for one, other in zip(before, added(turned))):
                return False
    except Exception:  # user code
        return False
    return True
