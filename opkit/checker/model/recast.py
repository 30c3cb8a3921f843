"""Recast: copies of arrays, in another dtype or their own, that lie in memory as they do and share it as they do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray


def recast(arrays: Sequence[ndarray], dtype: str | None = None) -> list[ndarray]:
    """Return copies of arrays, in a dtype or in their own; those that share memory share it again.

    Strides stay what they were in elements. What cannot be laid out so (a view whose strides are no whole elements)
    gets memory of its own.
    """
    roots = [root_of(array) for array in arrays]
    counts: dict[int, int] = {}
    for root in roots:
        counts[id(root)] = counts.get(id(root), 0) + 1
    buffers: dict[int, ndarray] = {}
    return [
        _within(array, root, dtype, buffers) if counts[id(root)] > 1 or not _is_dense(array) else _cast(array, dtype)
        for array, root in zip(arrays, roots)
    ]


def root_of(array: ndarray) -> ndarray:
    """Return the array that owns the memory of a view; the array itself where it owns it."""
    while isinstance(array.base, ndarray):
        array = array.base
    return array


def _is_dense(array: ndarray) -> bool:
    return array.flags.c_contiguous or array.flags.f_contiguous


def _cast(array: ndarray, dtype: str | None) -> ndarray:
    return array.astype(dtype or array.dtype, order="K")


def _within(array: ndarray, root: ndarray, dtype: str | None, buffers: dict[int, ndarray]) -> ndarray:
    """Return the view of a cast buffer that an array is of its own one, whose bytes are read in the array's dtype."""
    kind = np.dtype(dtype or array.dtype)
    size, new = array.dtype.itemsize, kind.itemsize
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    if (
        not array.size
        or array.dtype.kind not in "biufc"
        or not _is_dense(root)
        or root.nbytes % size
        or offset % size
        or any(s % size for s in array.strides)
    ):
        return _cast(array, dtype)
    if id(root) not in buffers:
        buffers[id(root)] = root.ravel(order="K").view(np.uint8).view(array.dtype).astype(kind)
    strides = tuple(step // size * new for step in array.strides)
    view: ndarray = ndarray(array.shape, kind, buffers[id(root)], offset // size * new, strides)
    return view
