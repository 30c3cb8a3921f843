"""Joined: the results that share what moves them. What is not joined with a result cannot round it, however large."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.checker.model.thresholds import SOME


def joined(links: ndarray) -> tuple[ndarray, ndarray]:
    """Return a number for each element (n,) and entry (J,), the same for those that links (n, J) join step by step.

    Where that takes many steps all have one. An element without a link has J.
    """
    count = links.shape[1]
    entries = np.arange(count)
    for _ in range(SOME):
        elements = np.where(links, entries, count).min(axis=1, initial=count)
        nearer = np.minimum(entries, np.where(links, elements[:, None], count).min(axis=0, initial=count))
        if np.array_equal(nearer, entries):
            return elements, entries
        entries = nearer
    return np.zeros(len(links), dtype=int), np.zeros(count, dtype=int)


def largest_joined(values: ndarray, numbers: ndarray) -> ndarray:
    """Return for each number (J,) the largest finite magnitude of the values (..., J) of those that have the same."""
    sizes = np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0, where=np.isfinite(values))
    found = np.zeros(numbers.max(initial=0) + 1)
    np.maximum.at(found, numbers, sizes)
    joint: ndarray = found[numbers]
    return joint
