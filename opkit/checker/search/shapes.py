"""Shapes: candidates that an infer function is asked about, in the order of how natural they are.

Combinatorics only; nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, product, zip_longest
from typing import Any, TypeAlias

from opkit.checker.model.checkable import Arg
from opkit.checker.model.dimensions import Dimensions
from opkit.checker.model.thresholds import FEW, MANY, RELATIONS

Shape: TypeAlias = tuple[int, ...]
#: One entry per input: a shape, a tuple of shapes (variadic), or None (left out).
Assignment: TypeAlias = "tuple[Shape | tuple[Shape, ...] | None, ...]"

#: Of a first input.
_MAIN: tuple[Shape, ...] = (
    (3, 4), (5,), (2, 3, 4), (4, 4), (6, 7), (1,), (1, 4), (4, 1), (1, 1), (), (0,), (0, 3), (2, 2, 4, 3), (1, 8, 2, 3),
    (2, 3, 5, 4), (23,), (2, 70), (2, 1, 3), (3, 3), (2, 2, 6, 6), (7,), (1, 1, 5, 5), (2,), (2, 3, 1), (4, 3),
    (1, 3, 4), (2, 2, 2), (5, 2, 3), (2, 2, 1, 3, 2), (3, 0), (2, 0, 3), (9, 5), (2, 4, 8, 8), (1, 2, 7), (2, 3, 9),
)  # fmt: skip
#: Sizes of the names in a signature, all different, some with divisors; and axes where any number may be.
_DRAWN: tuple[Shape, ...] = (
    (3, 4, 2, 5, 6, 7), (4, 6, 8, 2, 12, 3), (2, 8, 4, 12, 6, 16), (5, 2, 3, 7, 4, 9), (4,) * 6,
)  # fmt: skip
_MANY: tuple[Shape, ...] = ((2,), (), (3, 2))
#: Of a first input whose second axis holds channels, and of weights and biases beside it.
_CHANNELS: tuple[Shape, Sequence[Shape]] = (2, 3, 4), ((3,), (3, 5))


def with_item(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    """Return a tuple with another item at a place."""
    return (*items[:place], item, *items[place + 1 :])


def without_one_size(shapes: Assignment) -> list[Assignment]:
    """Return shapes with all axes of one size left out, for each of the sizes."""
    every: list[Any] = list(shapes)
    sizes = dict.fromkeys(chain.from_iterable(every))
    return [tuple(tuple(one for one in shape if one != size) for shape in every) for size in sizes]


def _related(shape: Shape) -> list[Shape]:
    """Shapes that other inputs have beside a first input of this shape, the most natural first."""
    last, first, rest = shape[-1:], shape[:1], len(shape) - 2
    found: list[Shape] = [shape, last, shape[1:], shape[:-1], first, (1,) * len(shape)]
    found[4:4] = [(*shape[:-2], *last)] if rest > 0 else []
    if shape:
        found += [(*last, 5), (5, *last), (*last, *last)]
    if rest >= 0:
        found += [(*shape[:-2], *last, 5), (*shape[:-2], 5, *last), shape[::-1], (5, 2)]
        found += [(*shape[:-1], 1), (1, *shape[1:]), (shape[1],), (shape[1], 5), (*shape[:-1], 5), (5, *shape[1:])]
    if rest > 0:
        found += [(2, shape[1], *(3,) * rest), (2, shape[1], *(2,) * rest), (shape[1], 1, *(3,) * rest)]
        found += [(shape[1], *(1,) * rest), (1, shape[1], *(1,) * rest), (3,) * rest]
    if rest == -1:
        found += [(3,), (4, *shape)]
    found += [(5,), (2,), (1,) * len(shape), (1,), ()]
    return list(dict.fromkeys(found))


def _lists(shape: Shape, least: int) -> list[tuple[Shape, ...]]:
    """Lists of shapes for a variadic input."""
    found = [(shape,) * max(count, least) for count in (2, 3, 1)]
    for axis in range(len(shape)):
        other = with_item(shape, axis, shape[axis] + 2)
        found.append((shape, other, shape)[: max(2, least)])
    return list(dict.fromkeys(found))


def _options(arg: Arg, shape: Shape, is_first: bool) -> list[Any]:
    """Return what an input may have beside a first input of this shape, or as that."""
    options: list[Any] = _lists(shape, arg.min_count) if arg.is_variadic else [shape] if is_first else _related(shape)
    if arg.is_optional:
        options.insert(1, None)
    return options


def assignments(args: Sequence[Arg], sizes: Sequence[int] = (), is_even: bool = False) -> Iterator[Assignment]:
    """Yield shapes for all inputs: natural and small ones first, then ever rarer relations.

    Args:
        args: the declared inputs.
        sizes: sizes at which kernels may branch.
        is_even: of three inputs and more, whether all first shapes come with one relation before any comes with the
            next: where nothing but forward says what is taken, a wrong first shape would use up all tries.
    """
    near = (other for size in sizes for other in (size + 1, size, size - 1))
    shapes = [*_MAIN, *chain.from_iterable(((one,), (2, one), (one, 2)) for one in near)]
    if len(args) > 2:  # a product over many inputs: fewer starting points
        shapes = [shape for shape in shapes if len(shape) <= 4][:MANY]
    depth = RELATIONS.get(len(args), FEW)
    alike = [tuple(_options(arg, shape, True)[0] for arg in args) for shape in shapes]
    rows = [
        list(product(*(_options(arg, shape, index == 0)[:depth] for index, arg in enumerate(args)))) for shape in shapes
    ]
    ordered: Iterable[Iterable[Assignment]] = rows
    if is_even and len(args) > 2:  # the last ones single numbers, as options are; further inputs of one shape first
        every = range(len(args))
        few = (
            tuple(_options(arg, shape if index < count else (), True)[0] for index, arg in enumerate(args))
            for count in reversed(every[1:])
            for shape in (*shapes[:2], (5, 3))  # also points in space
        )
        first, others = _CHANNELS
        by_channel = (
            tuple(_options(arg, shape, True)[0] for arg, shape in zip(args, (first, *rest)))
            for rest in islice(product(others, repeat=len(args) - 1), MANY)
        )
        ordered = (few, by_channel, *zip_longest(*(sorted(row, key=lambda item: len(set(item[1:]))) for row in rows)))
    yield from dict.fromkeys(item for item in chain(alike, *ordered) if item is not None)


def declared(dimensions: Dimensions, args: Sequence[Arg]) -> Iterator[Assignment]:
    """Yield shapes as a signature declares them: sizes that all differ first, then each name as 1 in turn.

    Args:
        dimensions: of the inputs that say theirs; others have shapes that go with the first of these.
        args: the declared inputs.
    """
    names = dimensions.names
    longest = max(map(max, _DRAWN))
    draws = [dict(zip(names, (*sizes, *range(longest + 1, longest + 1 + len(names))))) for sizes in _DRAWN]
    draws += [{**draws[0], name: 1} for name in names]
    for number, sizes in enumerate(draws):
        shapes = dimensions.shapes(sizes, _MANY[number % len(_MANY)], _DRAWN[0][0])
        first = next(iter(shapes.values()))
        yield from product(
            *(
                [shapes[arg.name], None][: 1 + arg.is_optional]
                if arg.name in shapes
                else _options(arg, first, False)[: RELATIONS.get(len(args), FEW)]
                for arg in args
            )
        )
