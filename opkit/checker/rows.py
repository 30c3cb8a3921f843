"""Rows: ops whose results in one row depend on that row of the input alone need few evaluations for a whole Jacobian.

A row is an index into the leading axes that inputs and outputs share; where it covers all axes, the op is elementwise.
The structure is never assumed: each pair of rows is told apart by at least one test in which only one of them moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Rows", "candidates"]

#: With fewer elements there is nothing to gain.
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one flat input and of the flat vector of outputs.

    Args:
        count: R.
        width: elements of the input per row; element r * width + c is the c-th of row r.
        entries: (R, W) the entries of the vector that belong to each row.
        size: J, the length of the vector.
    """

    count: int
    width: int
    entries: np.ndarray
    size: int

    def halves(self) -> Iterator[np.ndarray]:
        """Masks (R,) of rows, so that for any two rows some mask has the first and not the second."""
        rows = np.arange(self.count)
        for bit in range(max(int(self.count - 1).bit_length(), 1)):
            mask = (rows >> bit) & 1 == 1
            yield mask
            yield ~mask

    def tests(self) -> int:
        """Number of masks that ``halves`` yields."""
        return 2 * max(int(self.count - 1).bit_length(), 1)

    def keeps_apart(self, moved: Callable[[np.ndarray], np.ndarray], base: np.ndarray) -> bool:
        """Say whether outputs of rows at rest stay bit for bit what they are.

        Args:
            moved: the vector (J,) with the input's elements in a mask (R, 1) of rows moved.
            base: the vector with none moved.
        """
        return not any((moved(mask[:, None]) != base)[self.entries[~mask]].any() for mask in self.halves())


def candidates(shape: Sequence[int], outputs: Sequence[Sequence[int]]) -> Iterator[Rows]:
    """Yield the rows that an input and the outputs may share, the narrowest first, two at most.

    Args:
        shape: of the input.
        outputs: of the outputs that make up the vector.
    """
    size = int(np.prod(shape, dtype=np.int64))
    total = sum(int(np.prod(item, dtype=np.int64)) for item in outputs)
    if size < _LEAST or not total:
        return
    found = 0
    for axes in range(len(shape), 0, -1):
        lead = tuple(shape[:axes])
        count = int(np.prod(lead, dtype=np.int64))
        if found == 2 or count < 2 or any(tuple(item[:axes]) != lead for item in outputs):
            continue
        found += 1
        yield Rows(count, size // count, _entries(count, outputs), total)


def _entries(count: int, outputs: Sequence[Sequence[int]]) -> np.ndarray:
    parts, start = [], 0
    for shape in outputs:
        size = int(np.prod(shape, dtype=np.int64))
        parts.append(start + np.arange(size).reshape(count, size // count))
        start += size
    return np.concatenate(parts, axis=1)
