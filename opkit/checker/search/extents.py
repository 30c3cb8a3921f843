"""Extents: how many arrays, axes, sizes and elements a case or an assignment of shapes has.

Counting and changing sizes only; which shapes an op takes is found out in search.
"""

from __future__ import annotations

import math
from typing import Any

from opkit.checker.model.case import Case
from opkit.checker.search.shapes import Assignment, Shape


def shapes_of(case: Case) -> Assignment:
    """Return the shapes of a case's inputs."""
    return tuple(
        tuple(item.shape for item in value) if isinstance(value, list) else None if value is None else value.shape
        for value in case.inputs.values()
    )


def every_shape(assignment: Assignment) -> list[Shape]:
    """Return the shape of each array, those of lists too."""
    listed: list[Any] = [shape if shape and isinstance(shape[0], tuple) else [shape] for shape in assignment]
    return [shape for shapes in listed for shape in shapes if shape is not None]


def elements(assignment: Assignment) -> int:
    """Return the elements of the largest array."""
    return max((math.prod(shape) for shape in every_shape(assignment)), default=1)


def resized(assignment: Assignment, size: int, other: int) -> Assignment:
    """Return shapes with one size changed wherever it stands."""

    def changed(shape: Any) -> Any:
        if shape is None:
            return None
        return tuple(changed(one) if isinstance(one, tuple) else other if one == size else one for one in shape)

    return tuple(changed(shape) for shape in assignment)
