"""Extents: how many arrays, axes, sizes and elements a case or an assignment of shapes has.

Counting and changing sizes only; which shapes an op takes is found out in search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.search.shapes import Assignment


def shapes_of(case: Case) -> Assignment:
    """Return the shapes of a case's inputs."""
    return tuple(
        tuple(item.shape for item in value) if isinstance(value, list) else None if value is None else value.shape
        for value in case.inputs.values()
    )


def flat_sizes(shape: Any) -> Iterator[int]:
    """Yield the sizes of a shape, or of a list of shapes."""
    for item in shape:
        if isinstance(item, tuple):
            yield from item
        else:
            yield item


def elements(assignment: Assignment) -> int:
    """Return the elements of the largest array."""
    shapes = [one for shape in assignment if shape for one in (shape if isinstance(shape[0], tuple) else (shape,))]
    return max((int(np.prod(shape, dtype=np.int64)) for shape in shapes), default=1)


def resized(assignment: Assignment, size: int, other: int) -> Assignment:
    """Return shapes with one size changed wherever it stands."""

    def changed(shape: Any) -> Any:
        if shape is None:
            return None
        return tuple(changed(one) if isinstance(one, tuple) else other if one == size else one for one in shape)

    return tuple(changed(shape) for shape in assignment)
