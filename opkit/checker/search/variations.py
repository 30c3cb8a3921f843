"""Variations: what a case's shapes are, and cases made of others by changing a size, an element or an emptiness.

Arrays and shapes only; what an op takes is found out in search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.trial import Outcome
from opkit.checker.search.shapes import Assignment

__all__ = [
    "arrays_of",
    "cut",
    "diverse",
    "elements",
    "fits",
    "flat_sizes",
    "is_anchor",
    "is_definite",
    "is_float_input",
    "nudged",
    "one_per_rank",
    "partly_cut",
    "ranks_of",
    "resized",
    "shapes_of",
    "sizes_of",
    "subsets",
]


def is_definite(outcome: Outcome) -> bool:
    """Say whether infer promises results with elements, and forward gives some."""
    sizes = [size for desc in outcome.promised or () for size in desc.shape]
    return all(size > 0 for size in sizes) and all(np.size(item) for item in outcome.outputs)


def fits(value: Any, case: Case) -> bool:
    """Say whether an attribute's value is a choice, or a count that no size of the case is too small for."""
    if isinstance(value, (bool, str)):
        return True
    sizes = [size for array in arrays_of(case) for size in array.shape if size > 1]
    return isinstance(value, int) and 0 < value <= min(sizes, default=0)


def nudged(value: Any) -> Any:
    """Change an array's first element."""
    if isinstance(value, list):
        return [nudged(item) for item in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return value
    changed = value.copy()
    changed.flat[0] = 1.25 * changed.flat[0] + (0.1 if changed.flat[0] == 0 else 0.0)
    return changed


def cut(value: Any, size: int) -> Any:
    """Return an array, or a list of arrays, with every axis of a size made empty."""
    if isinstance(value, list):
        return [cut(item, size) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(0) if one == size else slice(None) for one in value.shape)].copy()


def partly_cut(case: Case) -> list[dict[str, Any]]:
    """Return the case's inputs with the first part of a list, or an array of integers, empty along each axis."""
    changed: list[dict[str, Any]] = []
    for name, value in case.inputs.items():
        if isinstance(value, list) and len(value) > 1:
            for axis in range(value[0].ndim):
                part = value[0][(slice(None),) * axis + (slice(0),)].copy()
                changed.append({**case.inputs, name: [part, *value[1:]]})
        if isinstance(value, np.ndarray) and value.dtype.kind != "f":
            changed += [
                {**case.inputs, name: value[(slice(None),) * axis + (slice(0),)].copy()} for axis in range(value.ndim)
            ]
    return changed


def shapes_of(case: Case) -> Assignment:
    """Return the shapes of a case's inputs."""
    return tuple(
        tuple(item.shape for item in value) if isinstance(value, list) else None if value is None else value.shape
        for value in case.inputs.values()
    )


def resized(assignment: Assignment, size: int, other: int) -> Assignment:
    """Return shapes with one size changed wherever it stands."""

    def changed(shape: Any) -> Any:
        if shape is None:
            return None
        return tuple(changed(one) if isinstance(one, tuple) else other if one == size else one for one in shape)

    return tuple(changed(shape) for shape in assignment)


def elements(assignment: Assignment) -> int:
    """Return the elements of the largest array."""
    shapes = [one for shape in assignment if shape for one in (shape if isinstance(shape[0], tuple) else (shape,))]
    return max((int(np.prod(shape, dtype=np.int64)) for shape in shapes), default=1)


def one_per_rank(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield the first case without empty arrays for each combination of ranks, three at most, with sizes above 1."""
    seen: set[tuple[int, ...]] = set()
    for case in cases:
        if all(sizes_of(case)) and max(sizes_of(case), default=0) > 1 and ranks_of(case) not in seen and len(seen) < 3:
            seen.add(ranks_of(case))
            yield case


def subsets(items: Sequence[int], count: int) -> Iterator[frozenset[int]]:
    """Yield all subsets of so many items."""
    for chosen in combinations(items, count):
        yield frozenset(chosen)


def flat_sizes(shape: Any) -> Iterator[int]:
    """Yield the sizes of a shape, or of a list of shapes."""
    for item in shape:
        if isinstance(item, tuple):
            yield from item
        else:
            yield item


def is_float_input(value: Any) -> bool:
    """Say whether an input holds floats."""
    if isinstance(value, list):
        return bool(value) and value[0].dtype.kind == "f"
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def is_anchor(value: Any) -> bool:
    """Say whether a number is one that values may be placed around."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 1e-4 <= abs(value) <= 1e4


def arrays_of(case: Case) -> Iterator[np.ndarray]:
    """Yield the arrays of a case."""
    for value in case.inputs.values():
        if isinstance(value, list):
            yield from value
        elif isinstance(value, np.ndarray):
            yield value


def sizes_of(case: Case) -> list[int]:
    """Return how many elements each array of a case has."""
    return [array.size for array in arrays_of(case)]


def ranks_of(case: Case) -> tuple[int, ...]:
    """Return how many axes each array of a case has."""
    return tuple(array.ndim for array in arrays_of(case))


def diverse(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield small non-empty cases: one per combination of ranks, then those whose inputs differ most in size."""
    small = [case for case in cases if 0 < max(sizes_of(case), default=0) <= 260]
    seen: set[tuple[int, ...]] = set()
    later = []
    for case in small:
        if ranks_of(case) in seen:
            later.append(case)
        else:
            seen.add(ranks_of(case))
            yield case
    later.sort(key=lambda case: min(sizes_of(case)) - max(sizes_of(case)))
    yield from islice(later, 12)
