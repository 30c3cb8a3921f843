"""Kinds: how the shapes of a case's inputs relate, whatever their sizes are.

Naming and comparing only; which of them an op is meant for is decided in relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from opkit.checker.model.case import Case
from opkit.checker.search.extents import arrays_of, shapes_of
from opkit.checker.search.shapes import Assignment, Shape

#: Stands for an axis of size 1 of a further input.
ONE = -1
#: Of each input: a label for each axis, the same where sizes are equal; None for an input left out, "list" for a list.
Kind: TypeAlias = "tuple[tuple[int, ...] | str | None, ...]"


def kind_of(case: Case) -> Kind:
    """Return how a case's shapes relate."""
    return kind_between(shapes_of(case))


def kind_between(shapes: Assignment) -> Kind:
    """Return how shapes relate: the same for (3, 4) with (4,), (2, 5) with (5,) and (1, 6) with (6,)."""
    labels: dict[int, int] = {}
    found: list[tuple[int, ...] | str | None] = []
    for index, shape in enumerate(shapes):
        if shape is None or (shape and isinstance(shape[0], tuple)):
            found.append(None if shape is None else "list")
            continue
        own: Shape = shape  # type: ignore[assignment]
        is_fixed = index > 0 and shape != shapes[0]
        found.append(tuple(ONE if size == 1 and is_fixed else labels.setdefault(size, len(labels)) for size in own))
    return tuple(found)


def includes(kind: Kind, assignment: Assignment) -> bool:
    """Say whether shapes are of a kind, perhaps with sizes equal that need not be."""
    if len(kind) != len(assignment):
        return False
    sizes: dict[int, int] = {ONE: 1}
    for labels, shape in zip(kind, assignment):
        if not isinstance(labels, tuple) or shape is None or (shape and isinstance(shape[0], tuple)):
            same = labels is None if shape is None else labels == "list" and bool(shape) and isinstance(shape[0], tuple)
            if not same:
                return False
            continue
        own: Shape = shape  # type: ignore[assignment]
        if len(labels) != len(own) or any(sizes.setdefault(one, size) != size for one, size in zip(labels, own)):
            return False
    return True


def is_alike(kind: Kind) -> bool:
    """Say whether all inputs that are given have one shape."""
    return len({labels for labels in kind if labels is not None}) <= 1


def rank_of(kind: Kind) -> int:
    """Return how many axes the first array has, 0 where there is none."""
    return next((len(labels) for labels in kind if isinstance(labels, tuple)), 0)


def has_ones(kind: Kind) -> bool:
    """Say whether a further input has an axis of size 1 beside other shapes."""
    return any(isinstance(labels, tuple) and ONE in labels for labels in kind)


def leads(kind: Kind, index: int) -> bool:
    """Say whether an input's axes are the first one's leading ones, but not all of them."""
    own, first = kind[index], kind[0]
    return (
        isinstance(own, tuple)
        and isinstance(first, tuple)
        and 0 < len(own) < len(first) == len(set(first))
        and first[: len(own)] == own
    )


def labels_in(kind: Kind) -> int:
    """Return how many sizes of a kind are free."""
    return len({label for labels in kind if isinstance(labels, tuple) for label in labels} - {ONE})


def is_same(kind: Kind, index: int) -> bool:
    """Say whether an input has the first one's shape."""
    return kind[index] == kind[0]


def is_number(kind: Kind, index: int) -> bool:
    """Say whether an input is one number beside a first one with axes."""
    labels = kind[index]
    return isinstance(labels, tuple) and set(labels) <= {ONE} and rank_of(kind) > 0


def is_vector(kind: Kind, index: int) -> bool:
    """Say whether an input is a vector beside a first one with more axes."""
    labels = kind[index]
    return isinstance(labels, tuple) and len(labels) == 1 and labels != (ONE,) and rank_of(kind) > 1


def is_plain(case: Case) -> bool:
    """Say whether no array but by its kind has an axis of size 1, nor the first one two axes of one size."""
    shape: tuple[int, ...] = next((array.shape for array in arrays_of(case)), ())
    return len(set(shape)) == len(shape) and 1 not in shape


def spelled(kind: Kind, assignment: Assignment, size: int) -> Assignment:
    """Return shapes of a kind whose sizes differ wherever its labels do, and are 1 only where it says so.

    Args:
        kind: which the assignment is included in.
        assignment: whose sizes are kept as far as they differ.
        size: the least of the others.
    """
    sizes: dict[int, int] = {ONE: 1}
    shapes: list[Shape | tuple[Shape, ...] | None] = []
    for labels, shape in zip(kind, assignment):
        if not isinstance(labels, tuple) or shape is None:
            shapes.append(shape)
            continue
        own: Shape = shape  # type: ignore[assignment]
        for label, one in zip(labels, own):
            if label not in sizes:
                sizes[label] = one if one > 1 and one not in sizes.values() else size + len(sizes)
        shapes.append(tuple(sizes[label] for label in labels))
    return tuple(shapes)


def wider(assignment: Assignment, size: int) -> Iterator[Assignment]:
    """Yield shapes with one axis of the first input changed, and with it some of the others' axes of that size.

    What forward takes of these tells whether equal sizes, or a size of 1, mean anything.

    Args:
        assignment: the shapes; none is yielded where the first one's sizes all differ.
        size: what the axes become.
    """
    first = assignment[0]
    if any(shape is not None and shape and isinstance(shape[0], tuple) for shape in assignment) or not first:
        return
    for axis, old in enumerate(first):
        if first.count(old) == 1 and old != 1:
            continue
        places = [
            (index, place)
            for index, shape in enumerate(assignment)
            for place, one in enumerate(shape or ())
            if one == old and (index, place) != (0, axis)
        ]
        for chosen in _subsets(places):
            yield _changed(assignment, [(0, axis), *chosen], size)


def unstretched(assignment: Assignment, size: int, *, is_tied: bool) -> Iterator[Assignment]:
    """Yield shapes in which an axis of size 1 of a further input has another size.

    Args:
        assignment: the shapes.
        size: what the axis becomes.
        is_tied: whether all other axes of size 1 become that, too.
    """
    ones = [
        (index, place) for index, shape in enumerate(assignment) for place, one in enumerate(shape or ()) if one == 1
    ]
    if is_tied:
        yield _changed(assignment, ones, size)
    else:
        yield from (_changed(assignment, [one], size) for one in ones if one[0])


def _subsets(places: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    for count in range(len(places) + 1):
        yield from combinations(places, count)


def _changed(assignment: Assignment, places: Sequence[tuple[int, int]], size: int) -> Assignment:
    shapes = [None if shape is None else list(shape) for shape in assignment]
    for index, place in places:
        shape = shapes[index]
        if shape is not None:
            shape[place] = size
    return tuple(None if shape is None else tuple(shape) for shape in shapes)  # type: ignore[misc]
