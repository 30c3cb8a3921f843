"""Chances: relations of shapes that forward takes by chance, seen at what its results and gradients are there.

Asks of single relations only; which of them an op is meant for is decided in holding and relations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from math import isclose, prod
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import COUNT_LOOKS, COUNT_SHARE, MOVED_BY, MOVED_FACTOR, POISON
from opkit.checker.search.extents import arrays_of
from opkit.checker.search.kinds import Kind, rank_of
from opkit.checker.search.look import ratios
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.shapes import Assignment


def counted_wrong(scope: SearchScope, case: Case) -> int:
    """Return how many elements a gradient is too large or too small by, and by nothing else; 0 where it is not so.

    A mean over all elements whose gradient is divided by the number of rows alone is wrong by the other sizes' product.
    """
    shape = next((array.shape for array in arrays_of(case)), ())
    counts = {prod(chosen) for number in range(1, len(shape) + 1) for chosen in combinations(shape, number)} - {1}
    found: set[int] = set()
    for look in range(COUNT_LOOKS):
        shares = ratios(scope, case, look)
        if not shares:
            return 0
        for share in shares:
            near = {
                count
                for count in counts
                if isclose(share, count, rel_tol=COUNT_SHARE) or isclose(share * count, 1.0, rel_tol=COUNT_SHARE)
            }
            if not near:
                return 0
            found |= near
    return found.pop() if len(found) == 1 else 0


def is_cube(kind: Kind, known: Collection[Kind]) -> bool:
    """Say whether the first array needs three or more equal sizes: no array of its rank has others.

    Args:
        kind: which forward takes.
        known: all kinds that it takes.
    """
    first = kind[0]
    if not isinstance(first, tuple) or len(first) < 3 or len(set(first)) > 1:
        return False
    return not any(isinstance(one[0], tuple) and len(set(one[0])) > 1 and rank_of(one) == len(first) for one in known)


def is_unsteady(scope: SearchScope, case: Case) -> bool:
    """Say whether forward leaves part of its results as the memory was, like ``numpy.empty`` and a short loop."""
    found = []
    for value in (POISON, -POISON):
        with _unset_memory_holds(value):
            found.append([np.array(item) for item in scope.trial.probe(case).outputs])
    return any(not np.array_equal(one, other, equal_nan=True) for one, other in zip(*found))


@contextmanager
def _unset_memory_holds(value: float) -> Iterator[None]:
    """Let numpy fill the arrays of floats that it would leave as the memory was, until the context ends."""
    kept = {name: getattr(np, name) for name in ("empty", "empty_like")}

    def filling(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def made(*args: Any, **settings: Any) -> np.ndarray:
            array = make(*args, **settings)
            if array.dtype.kind == "f":
                array.fill(value)
            return array

        return made

    try:
        for name, make in kept.items():
            setattr(np, name, filling(make))
        yield
    finally:
        for name, make in kept.items():
            setattr(np, name, make)


def ignores_ends(scope: SearchScope, case: Case, seen: Assignment) -> bool:
    """Say whether forward does not look at what arrays have beyond the sizes of others, like more than four corners.

    Args:
        scope: of the search.
        case: the arrays.
        seen: the others' shapes.
    """
    moved = {
        name: _moved_beyond(value, shape) if isinstance(value, np.ndarray) and shape is not None else value
        for (name, value), shape in zip(case.inputs.items(), seen)
    }
    one, other = scope.trial.probe(case), scope.trial.probe(replace(case, inputs=moved))
    if not (one.is_accepted and other.is_accepted) or all(moved[name] is case.inputs[name] for name in moved):
        return False
    return all(np.array_equal(first, second, equal_nan=True) for first, second in zip(one.outputs, other.outputs))


def _moved_beyond(value: np.ndarray, shape: Sequence[Any]) -> np.ndarray:
    if value.dtype.kind != "f" or len(shape) != value.ndim:
        return value
    moved = (MOVED_FACTOR * value + MOVED_BY).astype(value.dtype)
    inner = tuple(slice(min(own, size)) for own, size in zip(value.shape, shape))
    moved[inner] = value[inner]
    return value if np.array_equal(moved, value) else moved


def right_ranks(right: Mapping[Kind, bool]) -> set[int]:
    """Return the ranks of the first array at which some relation has a right gradient, and none a wrong one."""
    ranks = {rank_of(kind) for kind, is_right in right.items() if is_right}
    return ranks - {rank_of(kind) for kind, is_right in right.items() if not is_right}
