"""Copies: arrays, lists and dicts made with the same layout, and the comparison of two of them by content.

Who is handed what, and what a difference means, is custody's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["copied", "is_same_array", "is_same_option", "option_copied"]


def copied(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return read-only copies that lie in memory as the originals do, views of one buffer among them."""
    roots = [_root(array) for array in arrays]
    if len(arrays) == 1 or len({id(root) for root in roots}) == len(roots):
        return [_alone(array, root) for array, root in zip(arrays, roots)]
    buffers: dict[int, np.ndarray | None] = {}
    return [_within(array, root, buffers) for array, root in zip(arrays, roots)]


def _root(array: np.ndarray) -> np.ndarray:
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root


def _alone(array: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return a copy of an array that shares memory with no other argument."""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        copy: np.ndarray = array.copy(order="K")
        copy.flags.writeable = False
        return copy
    return _within(array, root, {})


def _within(array: np.ndarray, root: np.ndarray, buffers: dict[int, np.ndarray | None]) -> np.ndarray:
    """Return the view of a copied buffer that an array is of its own one; a plain copy where that cannot be made."""
    if id(root) not in buffers:
        buffers[id(root)] = _bytes_of(root)
    buffer = buffers[id(root)]
    copy: np.ndarray
    if buffer is None or not array.size or array.dtype.hasobject:
        copy = array.copy(order="K")
    else:
        offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        copy = np.ndarray(array.shape, array.dtype, buffer, offset, array.strides)
    copy.flags.writeable = False
    return copy


def _bytes_of(root: np.ndarray) -> np.ndarray | None:
    """Return a copy of all the bytes of an array that owns its memory, None where they have gaps."""
    if root.dtype.hasobject:
        return None
    flat = root if root.flags.c_contiguous else root.T
    return np.frombuffer(bytearray(flat.tobytes()), np.uint8) if flat.flags.c_contiguous else None


def is_same_array(one: np.ndarray, other: np.ndarray) -> bool:
    """Say whether two arrays hold the same bits in the same shape: NaN equals NaN, -0.0 is not 0.0."""
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def option_copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """Return a copy of lists, tuples, dicts, sets and arrays, however nested; all else is handed over as it is."""
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    kind = type(value)
    if kind is np.ndarray:
        known[id(value)] = found = value.copy(order="K")
        return found
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
    return value.copy() if kind is set else value


def is_same_option(one: Any, other: Any, seen: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Say whether two options hold the same; what is neither a container nor a plain value is compared by identity."""
    if one is other or (id(one), id(other)) in seen:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    seen = seen | {(id(one), id(other))}
    if kind is np.ndarray:
        return is_same_array(one, other)
    if kind in (list, tuple):
        return len(one) == len(other) and _all_same(zip(one, other), seen)
    if kind is dict:
        return list(one) == list(other) and _all_same(((one[key], other[key]) for key in one), seen)
    if kind is set:
        return bool(one == other)
    return kind in (int, float, str, bool, complex, bytes) and repr(one) == repr(other)


def _all_same(pairs: Iterable[tuple[Any, Any]], seen: frozenset[tuple[int, int]]) -> bool:
    return all(is_same_option(first, second, seen) for first, second in pairs)
