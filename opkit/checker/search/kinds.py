"""Kinds: how the shapes of a case's inputs relate, whatever their sizes are, and which kinds are special beside others.

Counting, changing and comparing sizes only; what an op does on a kind is in table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np

from opkit.checker.model.case import Case, plain
from opkit.checker.search.shapes import Assignment, Shape

#: Stand for an axis of size 1, and for an axis without elements.
ONE, NONE = -1, -2
#: Of each input: a label for each axis, the same where sizes are equal; None for an input left out, a tuple of these
#: for a list.
Kind: TypeAlias = "tuple[Any, ...]"
#: Options, and the dtypes and layouts of arrays, in a form that can be compared.
Setting: TypeAlias = "tuple[str, tuple[tuple[np.dtype, bool], ...]]"


def shapes_of(case: Case) -> Assignment:
    """Return the shapes of a case's inputs."""
    return tuple(
        tuple(item.shape for item in value) if isinstance(value, list) else None if value is None else value.shape
        for value in case.inputs.values()
    )


def is_list(shape: Any) -> bool:
    """Return whether an input is a list of arrays, of which the shapes are given."""
    return bool(shape) and isinstance(shape[0], tuple)


def every_shape(shapes: Assignment) -> list[Shape]:
    """Return the shape of each array, those of lists too."""
    listed: list[Any] = [shape if is_list(shape) else [shape] for shape in shapes]
    return [shape for shape in chain(*listed) if shape is not None]


def elements(shapes: Assignment) -> int:
    """Return the elements of the largest array."""
    return max(map(math.prod, every_shape(shapes)), default=1)


def shapewise(change: Callable[[Any], Any], shapes: Assignment) -> tuple[Any, ...]:
    """Return what a function makes of the shape of each array; what is left out stays so."""
    return tuple(
        tuple(map(change, shape)) if is_list(shape) else None if shape is None else change(shape)  # type: ignore[arg-type]
        for shape in shapes
    )


def is_plain(shapes: Assignment) -> bool:
    """Return whether shapes have no size of 1, and no single numbers."""
    return all(shape and min(shape) > 1 for shape in every_shape(shapes))


def is_usual(case: Case) -> bool:
    """Return whether a case has no size of 1, no single number, and no shape that is broadcast to another one."""
    shapes = shapes_of(case)
    every = {*every_shape(shapes)}
    with suppress(ValueError):
        np.broadcast_shapes(*every)
        return is_plain(shapes) and len(every) < 2
    return is_plain(shapes)


def resized(shapes: Assignment, size: int, other: int) -> Assignment:
    """Return shapes with one size changed wherever it stands."""
    return shapewise(lambda shape: tuple(other if one == size else one for one in shape), shapes)


def kind_of(case: Case) -> Kind:
    """Return how a case's shapes relate."""
    return kind_between(shapes_of(case))


def setting_of(case: Case) -> Setting:
    """Return a case's options, and the dtypes and layouts of its arrays."""
    options = [(name, plain(value)) for name, value in case.attrs.items()]
    return repr(options), tuple([(array.dtype, array.flags.c_contiguous) for array in case.arrays])


def kind_between(shapes: Assignment) -> Kind:
    """Return how shapes relate.

    Example:
        >>> kind_between(((3, 4), (4,))) == kind_between(((2, 5), (5,)))
        True
        >>> kind_between(((3, 1), (4, 4)))
        ((0, -1), (1, 1))
    """
    labels: dict[int, int] = {0: NONE, 1: ONE}
    return shapewise(lambda shape: tuple(labels.setdefault(one, len(labels) - 2) for one in shape), shapes)


def includes(kind: Kind, shapes: Assignment, repeated: Collection[int] = ()) -> bool:
    """Return whether shapes are of a kind, perhaps with sizes equal, 1 or 0 that need not be.

    Args:
        kind: of as many inputs.
        shapes: of each.
        repeated: places of inputs whose sizes of 1 stand for any size.
    """
    sizes: dict[int, int] = {ONE: 1, NONE: 0}
    inputs = enumerate(zip(kind, shapes))
    pairs = (
        (label, one)
        for place, (labels, shape) in inputs
        for label, one in zip(chain(*every_shape((labels,))), chain(*every_shape((shape,))))
        if one != 1 or place not in repeated
    )
    has_its_ranks = shapewise(len, kind) == shapewise(len, shapes)
    return has_its_ranks and all(sizes.setdefault(label, one) == one for label, one in pairs)


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
    if any(map(is_list, shapes)):
        return
    #: Each size by its place: (input, axis counted from the end).
    known: dict[tuple[int, int], Any] = {
        (index, axis - len(shape or ())): one
        for index, shape in enumerate(shapes)
        for axis, one in enumerate(shape or ())
    }

    def changed(sizes: Mapping[tuple[int, int], int]) -> Assignment:
        made = {**known, **sizes}
        return tuple(
            shape and tuple(made[index, axis] for axis in range(-len(shape), 0)) for index, shape in enumerate(shapes)
        )

    every = list(known.values())
    tied = [place for place, one in known.items() if one == 1 or every.count(one) > 1]
    # Axes that lie over each other when arrays are broadcast go together first: all of them, then one at a time.
    yield changed({place: size - place[1] for place in tied})
    for level in dict.fromkeys(axis for _, axis in tied):
        yield changed({place: size for place in tied if place[1] == level})
    for old in dict.fromkeys(every):
        places = [place for place, one in known.items() if one == old]
        for count in range(1, len(places) + (old == 1)):
            for chosen in combinations(places, count):
                yield changed(dict.fromkeys(chosen, size))
