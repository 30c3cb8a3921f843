"""Pieces: how a run of elementwise ops is computed, piece by piece, and over threads where there are several.

numpy releases the interpreter lock while it computes. Which ops form a run is ``opkit.static.plan.runs``'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Elements per piece: a handful of float32 pieces fit into a core's second-level cache.
PIECE = 16384


def flat(array: ndarray) -> ndarray:
    """Return an array of one axis with the elements in C order: a view, or a copy where there is none."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if not any(array.strides):
        return np.broadcast_to(array[(0,) * array.ndim], (array.size,))
    return np.ascontiguousarray(array).reshape(-1)


_pool: list[ThreadPoolExecutor] = []


def threads() -> int:
    """Return the number of threads to compute with: OMP_NUM_THREADS where it is set, else one per processor."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(count or 1, 8)


def spread(part: Callable[[int, int], None], size: int) -> None:
    """Compute all pieces, over threads where there are several: ``part(first, end)`` computes one stretch."""
    count = threads()
    if count == 1:
        part(0, size)
        return
    if not _pool:
        from concurrent.futures import ThreadPoolExecutor  # a third of what this package takes to import

        _pool.append(ThreadPoolExecutor(max(count - 1, 1), thread_name_prefix="opkit"))
    stretch = -(-size // (count * PIECE)) * PIECE
    waiting = [_pool[0].submit(part, first, min(first + stretch, size)) for first in range(stretch, size, stretch)]
    try:
        part(0, min(stretch, size))
    finally:
        for item in waiting:
            item.result()
