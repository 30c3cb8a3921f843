"""Copies: of lists, dicts and arrays that are options, and the comparison of two of them by content.

Who is handed what, and what a difference means, is custody's business.

Recast: copies of arrays, in another dtype or their own, that lie in memory as they do and share it as they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

#: Classes whose objects cannot change.
PLAIN = frozenset({bool, bytes, complex, float, int, str, type(None)})


def is_same_array(one: ndarray, other: ndarray) -> bool:
    """Return whether two arrays hold the same bits in the same shape: NaN equals NaN, -0.0 is not 0.0."""
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def option_copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """Return a copy of lists, tuples, dicts, sets and arrays, however nested; all else is handed over as it is."""
    kind = type(value)
    if kind in PLAIN:
        return value
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    if kind is list:
        items: list[Any] = []
        known[id(value)] = items  # entered first: a list may hold itself
        items.extend(option_copied(item, known) for item in value)
        return items
    if kind is dict:
        table: dict[Any, Any] = {}
        known[id(value)] = table
        table.update((key, option_copied(item, known)) for key, item in value.items())
        return table
    if kind is tuple:
        return tuple(option_copied(item, known) for item in value)
    return value.copy() if kind in (set, ndarray) else value


def is_same_option(one: Any, other: Any, seen: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Return whether two options hold the same; others than containers and plain values by identity."""
    if one is other or (id(one), id(other)) in seen:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    seen = seen | {(id(one), id(other))}
    if kind is ndarray:
        return is_same_array(one, other)
    if kind in (list, tuple):
        return len(one) == len(other) and _all_same(zip(one, other), seen)
    if kind is dict:
        return list(one) == list(other) and _all_same(((one[key], other[key]) for key in one), seen)
    if kind is set:
        return bool(one == other)
    is_plain = kind in (int, float, str, bool, complex, bytes) or isinstance(one, np.generic)
    return is_plain and repr(one) == repr(other)


def _all_same(pairs: Iterable[tuple[Any, Any]], seen: frozenset[tuple[int, int]]) -> bool:
    return all(is_same_option(first, second, seen) for first, second in pairs)


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
