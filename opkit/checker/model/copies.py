"""Copies: arrays, lists and dicts made with the same layout, and the comparison of two of them by content.

Who is handed what, and what a difference means, is custody's business.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opkit.errors import UsageError

#: Classes whose objects cannot change.
PLAIN = frozenset({bool, bytes, complex, float, int, str, type(None)})
#: Kinds of dtypes that have no fields and hold no objects.
_NUMBERS = frozenset("biufc")
#: Arrays of more bytes are compared in place; copying a smaller one takes less time than looking how it lies.
LARGE = 1 << 17


class NestingError(UsageError):
    """Lists, tuples or dicts hold one another too deep to be copied."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} holds lists, tuples or dicts in one another too deep to be copied",
            help="give arrays, or options that are nested less deep",
        )


def copied(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return read-only copies that lie in memory as the originals do, views of one buffer among them."""
    if len(arrays) == 1 or (are_apart(arrays) and len({id(_root(array)) for array in arrays}) == len(arrays)):
        return [copied_alone(array) for array in arrays]
    buffers: dict[int, np.ndarray | None] = {}
    return [_within(array, _root(array), buffers) for array in arrays]


def are_apart(arrays: Iterable[np.ndarray]) -> bool:
    """Say whether each array has memory of its own; views of one buffer by way of others may go unseen."""
    roots = [id(array if array.base is None else array.base) for array in arrays]
    return len(set(roots)) == len(roots)


def _root(array: np.ndarray) -> np.ndarray:
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root


def copied_alone(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy, laid out alike, of an array that shares memory with nothing else that is copied."""
    copy: np.ndarray = array.copy()  # naming the order, even this one, takes half as long again
    if copy.strides != array.strides:
        if array.dtype.kind in _NUMBERS and array.size and array.flags.aligned:
            before, size, is_dense = _extent(array.shape, array.strides, array.itemsize)
            if is_dense:
                return _dense(array, before, size)
        copy = array.copy("K")
        if copy.strides != array.strides:  # it has gaps, in which there may be something on purpose
            return _within(array, _root(array), {})
    copy.setflags(False)  # type: ignore[call-arg]  # as a keyword it takes twice as long, by flags ten times
    return copy


@lru_cache(maxsize=256)
def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int, bool]:
    """Return the bytes before an array's first element, all from its lowest to its highest, and whether no gaps are."""
    ways = [(count - 1) * stride for count, stride in zip(shape, strides)]
    before = -sum(way for way in ways if way < 0)
    size = before + sum(way for way in ways if way > 0) + itemsize
    elements = math.prod(count for count, way in zip(shape, ways) if way)
    return before, size, size == elements * itemsize


def _dense(array: np.ndarray, before: int, size: int) -> np.ndarray:
    """Return a read-only copy, laid out alike, of an array with zero or negative strides and without gaps."""
    copy: np.ndarray = np.ndarray(
        array.shape, array.dtype, np.frombuffer(bytearray(size), np.uint8), before, array.strides
    )
    copy[...] = array
    copy.setflags(False)  # type: ignore[call-arg]
    return copy


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
    copy.setflags(False)  # type: ignore[call-arg]
    return copy


def _bytes_of(root: np.ndarray) -> np.ndarray | None:
    """Return a copy of all the bytes of an array that owns its memory, None where they have gaps."""
    if root.dtype.hasobject:
        return None
    flat = root if root.flags.c_contiguous else root.T
    return np.frombuffer(bytearray(flat.tobytes()), np.uint8) if flat.flags.c_contiguous else None


def is_same_array(one: np.ndarray, other: np.ndarray) -> bool:
    """Say whether two arrays hold the same bits in the same shape: NaN equals NaN, -0.0 is not 0.0."""
    return one.shape == other.shape and one.dtype == other.dtype and holds(one, other.tobytes())


def holds(array: np.ndarray, content: bytes) -> bool:
    """Say whether an array's bits are these, which ``tobytes`` gave."""
    if array.nbytes < LARGE:
        return array.tobytes() == content
    if not array.flags.c_contiguous or array.dtype.hasobject:
        return array.tobytes() == content
    if array.nbytes != len(content):
        return False
    unit = np.uint64 if array.itemsize % 8 == 0 else np.uint8
    return bool((array.reshape(-1).view(unit) == np.frombuffer(content, unit)).all())


def option_copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """Return a copy of lists, tuples, dicts, sets and arrays, however nested; all else is handed over as it is."""
    kind = type(value)
    if kind in PLAIN:
        return value
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
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
    is_plain = kind in (int, float, str, bool, complex, bytes) or isinstance(one, np.generic)
    return is_plain and repr(one) == repr(other)


def _all_same(pairs: Iterable[tuple[Any, Any]], seen: frozenset[tuple[int, int]]) -> bool:
    return all(is_same_option(first, second, seen) for first, second in pairs)
