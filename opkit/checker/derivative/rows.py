"""Rows: ops whose results in one row depend on that row of the input alone need few evaluations for a whole Jacobian.

A row is an index into leading and trailing axes that an input and the outputs share: the first axis of a in a @ b, the
last of b; where it covers all axes, the op is elementwise. The structure is never assumed: each pair of rows is
distinguished by at least one test in which only one of them moves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy import ndarray

from opkit.checker.model.thresholds import FEW, LEAST_ROWS_SIZE, MOST_POWERS
from opkit.checker.model.types import ArrayMap
from opkit.ir import Shape
from opkit.record import record


@record
class Rows:
    """Rows of one flat input and of the flat vector of outputs.

    Args:
        axes: number of leading and of trailing axes that are shared.
        elements: (R, C) the elements of the input that belong to each row.
        entries: (R, W) the entries of the vector that belong to each row.
        place: (n,) row * C + column of every element.
    """

    axes: tuple[int, int]
    elements: ndarray
    entries: ndarray
    place: ndarray

    @property
    def count(self) -> int:
        """R."""
        return len(self.elements)

    @property
    def width(self) -> int:
        """C, elements of the input per row."""
        return int(self.elements.shape[1])

    def masks(self) -> ndarray:
        """Masks (T, R) of rows, so that for any two rows some mask has the first and not the second."""
        return _masks(self.count)

    def factors(self) -> ndarray:
        """Factors (T, R, 1) of rows that round nothing, so that any two rows have different ones in some test."""
        return _factors(self.count)

    def keeps_apart(self, moved: ArrayMap, base: ndarray) -> bool:
        """Return whether outputs of rows at rest stay bit for bit what they are.

        Args:
            moved: the vector (J,) with the elements in a mask (n,) moved.
            base: the vector with none moved.
        """
        of_elements = self.place // self.width
        return not any((moved(mask[of_elements]) != base)[self.entries[~mask]].any() for mask in self.masks())


def candidates(shape: Sequence[int], outputs: Sequence[Sequence[int]]) -> Iterator[Rows]:
    """Yield the rows that an input and the outputs may share, the narrowest first, a few at most.

    Args:
        shape: of the input.
        outputs: of the outputs that make up the vector.
    """
    given = tuple(shape), tuple(tuple(item) for item in outputs)
    if math.prod(shape) >= LEAST_ROWS_SIZE and any(math.prod(item) for item in outputs):
        for lead, trail in _shared(*given):
            yield _rows(*given, lead, trail)


@lru_cache(maxsize=256)
def _masks(count: int) -> ndarray:
    """Sets of T // 2 out of T tests, one for each row: none is part of another (Sperner 1928), and T is least."""
    tests = next(number for number in itertools.count(2) if math.comb(number, number // 2) >= count)
    masks = np.zeros((tests, count), dtype=bool)
    sets = list(itertools.islice(itertools.combinations(range(tests), tests // 2), count))
    masks[np.array(sets).T, np.arange(count)] = True
    masks.flags.writeable = False
    return masks


@lru_cache(maxsize=256)
def _factors(count: int) -> ndarray:
    """0 and powers of -2, by the digits of each row's number."""
    powers = np.array([0.0, *(-2.0) ** np.arange(MOST_POWERS)])
    tests = next(number for number in itertools.count(1) if powers.size**number >= count)
    factors: ndarray = powers[np.arange(count) // powers.size ** np.arange(tests)[:, None] % powers.size, None]
    factors.flags.writeable = False
    return factors


@lru_cache(maxsize=64)
def _rows(shape: Shape, outputs: tuple[Shape, ...], lead: int, trail: int) -> Rows:
    size = math.prod(shape)
    elements = _by_row(np.arange(size).reshape(shape), lead, trail)
    starts = np.cumsum([0, *map(math.prod, outputs)])
    grids = [np.arange(start, stop).reshape(item) for start, stop, item in zip(starts, starts[1:], outputs)]
    place = np.empty(size, dtype=np.intp)
    place[elements.reshape(-1)] = np.arange(size)
    return Rows((lead, trail), elements, np.concatenate([_by_row(grid, lead, trail) for grid in grids], axis=1), place)


@lru_cache(maxsize=256)
def _shared(shape: Shape, outputs: tuple[Shape, ...]) -> list[tuple[int, int]]:
    """Return (leading axes, trailing axes) that all shapes have in common; most rows, then most leading axes, first."""
    rank = min(map(len, (shape, *outputs)))
    found: dict[tuple[int, int], int] = {}
    for lead in range(rank, -1, -1):
        if any(item[:lead] != shape[:lead] for item in outputs):
            continue
        for trail in range(rank - lead, -1, -1):
            if trail and any(item[len(item) - trail :] != shape[len(shape) - trail :] for item in outputs):
                continue
            count = math.prod(shape[:lead] + shape[len(shape) - trail :])
            is_whole = lead + trail == len(shape) and all(len(item) == len(shape) for item in outputs)
            if count > 1:
                found.setdefault((len(shape), 0) if is_whole else (lead, trail), count)
    return sorted(found, key=lambda axes: (-found[axes], -axes[0]))[:FEW]


def _by_row(indices: ndarray, lead: int, trail: int) -> ndarray:
    """Return flat indices (R, width) by row from an array of them in their own shape."""
    rank = indices.ndim
    order = [*range(lead), *range(rank - trail, rank), *range(lead, rank - trail)]
    count = math.prod(indices.shape[axis] for axis in order[: lead + trail])
    found: ndarray = indices.transpose(order).reshape(count, -1)
    return found
