"""Kinds: how the shapes of a case's inputs relate, whatever their sizes are, and which kinds are special beside others.

Naming and comparing only; what an op does on a kind is in table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, TypeAlias

from opkit.checker.model.case import Case, plain
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.shapes import Assignment

#: Stand for an axis of size 1, and for an axis without elements.
ONE, NONE = -1, -2
#: Of each input: a label for each axis, the same where sizes are equal; None for an input left out, a tuple of these
#: for a list.
Kind: TypeAlias = "tuple[Any, ...]"


def kind_of(case: Case) -> Kind:
    """Return how a case's shapes relate."""
    return kind_between(shapes_of(case))


def setting_of(case: Case) -> str:
    """Return a case's options, and the dtypes and layouts of its arrays, in a form that can be compared."""
    options = [(name, plain(value)) for name, value in case.attrs.items()]
    return repr((options, [(array.dtype, array.flags.c_contiguous) for array in case.arrays]))


def kind_between(shapes: Assignment) -> Kind:
    """Return how shapes relate.

    Example:
        >>> kind_between(((3, 4), (4,))) == kind_between(((2, 5), (5,)))
        True
        >>> kind_between(((3, 1), (4, 4)))
        ((0, -1), (1, 1))
    """
    labels: dict[int, int] = {0: NONE, 1: ONE}

    def label(shape: Any) -> Any:
        if shape is None:
            return None
        return tuple(label(one) if isinstance(one, tuple) else labels.setdefault(one, len(labels) - 2) for one in shape)

    return tuple(map(label, shapes))


def includes(kind: Kind, shapes: Assignment) -> bool:
    """Return whether shapes are of a kind, perhaps with sizes equal, 1 or 0 that need not be."""
    sizes: dict[int, int] = {ONE: 1, NONE: 0}

    def fits(labels: Any, shape: Any) -> bool:
        if labels is None or shape is None:
            return labels is None and shape is None
        if len(labels) != len(shape):
            return False
        return all(
            fits(label, one)
            if isinstance(label, tuple)
            else not isinstance(one, tuple) and sizes.setdefault(label, one) == one
            for label, one in zip(labels, shape)
        )

    return len(kind) == len(shapes) and all(map(fits, kind, shapes))


def is_special(shapes: Assignment, kind: Kind) -> bool:
    """Return whether shapes are of a kind only with more equal sizes, ones or zeros than the kind has."""
    return kind_between(shapes) != kind and includes(kind, shapes)


def generalised(shapes: Assignment, size: int) -> Iterator[Assignment]:
    """Yield shapes with some of the axes of one size, or of size 1, changed to a size of their own.

    What forward takes of these tells whether equal sizes, or a size of 1, mean anything.

    Args:
        shapes: of each input; none is yielded beside a list.
        size: the least that the axes become: one that no usual shape has.
    """
    if any(shape and isinstance(shape[0], tuple) for shape in shapes):
        return
    flat: list[tuple[int, int, Any]] = [
        (index, axis - len(shape or ()), one)
        for index, shape in enumerate(shapes)
        for axis, one in enumerate(shape or ())
    ]
    known = [one for _, _, one in flat]
    tied = [(index, axis) for index, axis, one in flat if one == 1 or known.count(one) > 1]
    # Axes that lie over each other when arrays are broadcast go together first: all of them, then one at a time.
    yield _changed(shapes, {place: size - place[1] for place in tied})
    for level in dict.fromkeys(axis for _, axis in tied):
        yield _changed(shapes, {place: size for place in tied if place[1] == level})
    for old in dict.fromkeys(known):
        places = [(index, axis) for index, axis, one in flat if one == old]
        for count in range(1, len(places) + (old == 1)):
            for chosen in combinations(places, count):
                yield _changed(shapes, dict.fromkeys(chosen, size))


def _changed(shapes: Assignment, sizes: Mapping[tuple[int, int], int]) -> Assignment:
    """Return shapes with other sizes at some places: (input, axis counted from the end)."""
    made: list[Any] = [
        None if shape is None else tuple(sizes.get((index, axis - len(shape)), one) for axis, one in enumerate(shape))
        for index, shape in enumerate(shapes)
    ]
    return tuple(made)
