"""The k least or largest elements, where of several equal ones those count that C++'s standard library finds.

The order in which equal elements keep their places is in ``opkit.ops.arrange.sort``.

Which of several equal elements C++'s standard algorithms put where: selection and sorting as libstdc++ does them.

Orders in which equal elements keep their places are numpy's. Elements are ranks: small integers, in a list that is
changed in place together with nothing else, so that a list of ``(rank, place)`` pairs is compared by the rank alone.
Source: D. Musser 1997, "Introspective Sorting and Selection Algorithms"; libstdc++ 4 to 14, which agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.arrange.scattering import take_along_axis
from opkit.ops.arrange.shape import swapaxes
from opkit.ops.core.define import define
from opkit.ops.core.mode import perform
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of

#: Below this length libstdc++ sorts by insertion.
_SHORT = 16

Items = list[tuple[int, int]]


def least_places(ranks: Sequence[int], k: int) -> list[int]:
    """Return the places of the k least ranks in order, as ``partial_sort``, or ``nth_element`` and ``sort``, find them.

    Args:
        ranks: integers.
        k: from 1 to their number; where it is under a 64th of it, ``partial_sort`` is used.
    """
    items = list(zip(ranks, range(len(ranks))))
    if k * 64 < len(items):
        _select_by_heap(items, 0, k, len(items))
        _sort_heap(items, 0, k)
    else:
        _nth_element(items, k - 1)
        _sort(items, k - 1)
    return [place for _, place in items[:k]]


# ---- selection -------------------------------------------------------------------------------------------------------
def _nth_element(items: Items, nth: int) -> None:
    first, last = 0, len(items)
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            _select_by_heap(items, first, nth + 1, last)
            items[first], items[nth] = items[nth], items[first]
            return
        depth -= 1
        cut = _partition(items, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insert_all(items, first, last)


def _sort(items: Items, last: int) -> None:
    """Sort the elements before ``last``."""
    _sort_parts(items, 0, last, 2 * (last.bit_length() - 1))
    _insert_all(items, 0, last)


def _sort_parts(items: Items, first: int, last: int, depth: int) -> None:
    while last - first > _SHORT:
        if depth == 0:
            _select_by_heap(items, first, last, last)
            _sort_heap(items, first, last)
            return
        depth -= 1
        cut = _partition(items, first, last)
        _sort_parts(items, cut, last, depth)
        last = cut


def _partition(items: Items, first: int, last: int) -> int:
    """Move what is less than a pivot before what is greater, and return where the second part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = items[a][0], items[b][0], items[c][0]
    if x < y:
        middle = b if y < z else c if x < z else a
    else:
        middle = a if x < z else c if y < z else b
    items[first], items[middle] = items[middle], items[first]
    pivot, low, high = items[first][0], first + 1, last
    while True:
        while items[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < items[high][0]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1


def _insert_all(items: Items, first: int, last: int) -> None:
    # An insertion keeps the order of equal elements, as Python's sort does.
    items[first:last] = sorted(items[first:last], key=_rank)


def _rank(item: tuple[int, int]) -> int:
    return item[0]


# ---- heaps -----------------------------------------------------------------------------------------------------------
def _select_by_heap(items: Items, first: int, middle: int, last: int) -> None:
    """Make a heap of the least elements before ``middle``."""
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1):
        _sift(items, first, parent, size, items[first + parent])
    for place in range(middle, last):
        if items[place][0] < items[first][0]:
            value, items[place] = items[place], items[first]
            _sift(items, first, 0, size, value)


def _sort_heap(items: Items, first: int, last: int) -> None:
    while last - first > 1:
        last -= 1
        value, items[last] = items[last], items[first]
        _sift(items, first, 0, last - first, value)


def _sift(items: Items, first: int, hole: int, size: int, value: tuple[int, int]) -> None:
    """Let the greater children rise from a hole, then let a value rise from where that ends."""
    top = child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if items[first + child][0] < items[first + child - 1][0]:
            child -= 1
        items[first + hole] = items[first + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        items[first + hole] = items[first + child - 1]
        hole = child - 1
    while hole > top and items[first + (hole - 1) // 2][0] < value[0]:
        parent = (hole - 1) // 2
        items[first + hole] = items[first + parent]
        hole = parent
    items[first + hole] = value


def ranks_of(row: ndarray, *, largest: bool) -> list[int]:
    """Return the ranks of a row's elements: of the least 0, or of the largest; NaN count as the largest."""
    ranks = np.unique(row, return_inverse=True)[1].reshape(-1)
    ranked: list[int] = (-ranks if largest else ranks).tolist()
    return ranked


def _places(x: ndarray, k: int, largest: bool) -> ndarray:
    order = np.argsort(-x if largest and x.dtype.kind == "f" else x, axis=-1, kind="stable")
    if largest:
        order = _from_the_largest(x, order)
    places = order[..., :k].astype(np.int64)
    ordered = np.take_along_axis(x, order[..., : k + 1], -1)
    ties = ordered[..., 1:] == ordered[..., :-1]
    if x.dtype.kind == "f":
        ties |= np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1])
    for row in np.argwhere(ties.any(-1)):
        at = tuple(row)
        places[at] = least_places(ranks_of(x[at], largest=largest), k)
    return places


def _from_the_largest(x: ndarray, order: ndarray) -> ndarray:
    if x.dtype.kind != "f":
        return order[..., ::-1]
    # numpy puts NaN last; among the largest they come first.
    is_number = ~np.isnan(np.take_along_axis(x, order, -1))
    return np.take_along_axis(order, np.argsort(is_number, axis=-1, kind="stable"), -1)


PLACES = define(
    "selected_places",
    "x",
    "places",
    _places,
    infer=lambda descs, attrs: [TensorDesc((*descs[0].shape[:-1], attrs["k"]), "int64")],
    attrs="k:int32 largest:bool",
)


def selected(x: Value, k: int, axis: int = -1, largest: bool = False) -> tuple[Value, Value]:
    """Return the k least (or largest) along an axis, in order, and their places (int64); NaN count as the largest.

    Of equal elements those count that ``std::partial_sort``, or ``std::nth_element`` and ``std::sort``, find.

    Raises:
        ShapeError: the axis has fewer than k.
    """
    last = ndim_of(x) - 1
    at = normal_axis(axis, last + 1, "selected")
    size = shape_of(x)[at]
    if k < 1 or k > size != -1:
        raise ShapeError(f"op 'selected_places': k is {k} for an axis of size {size}")
    attrs = {"k": int(k), "largest": bool(largest)}
    if at == last:
        places = perform(PLACES, x, **attrs)
    else:
        places = swapaxes(perform(PLACES, swapaxes(x, at, last), **attrs), at, last)
    return take_along_axis(x, places, at), places
