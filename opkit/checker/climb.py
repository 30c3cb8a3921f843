"""Climb: shapes for an infer function that refuses all natural ones, found by how far into its checks they get.

Combinatorics and asking; nothing is run but what is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from opkit.checker.checkable import Arg
from opkit.checker.shapes import Assignment, Shape

__all__ = ["ACCEPTED", "climb"]

#: Progress of an assignment that is taken.
ACCEPTED = float("inf")
#: Sizes that shapes are made of, by rank; numbers that occur in the spec come before these.
_SIZES = {
    1: (5, 4, 3, 2, 1, 6, 8, 7, 9, 10, 12, 16),
    2: (3, 4, 2, 5, 1, 6, 7, 8, 9, 10),
    3: (3, 4, 2, 5, 1),
    4: (2, 4, 3, 5),
}
_LARGEST = {1: 1024, 2: 64, 3: 32, 4: 16}
_HINTS = 4
_PASSES = 3


def climb(args: Sequence[Arg], ask: Callable[[Assignment], float], sizes: Sequence[int] = ()) -> Assignment | None:
    """Return shapes that are taken, None where the climb ends before.

    Args:
        args: the declared inputs.
        ask: how far an assignment gets: the larger the better, ACCEPTED where it is taken.
        sizes: sizes that the definition speaks of.
    """
    options = list(_shapes(sizes))
    current: list[Shape] = [(3, 4)] * len(args)
    best = -1.0
    for _ in range(_PASSES):
        before = best
        for position in (None, *range(len(args))):  # all alike, then one after the other
            for shape in options:
                tried = [shape if position is None or index == position else kept for index, kept in enumerate(current)]
                reached = ask(_as_assignment(args, tried))
                if reached > best:
                    best, current = reached, tried
                if best == ACCEPTED:
                    return _as_assignment(args, current)
        if best <= before:
            return None
    return None


def _as_assignment(args: Sequence[Arg], shapes: Sequence[Shape]) -> Assignment:
    return tuple((shape,) * max(2, arg.min_count) if arg.is_variadic else shape for arg, shape in zip(args, shapes))


def _shapes(hints: Sequence[int]) -> Iterator[Shape]:
    """Shapes of rank 1, 2, 0, 3, 4, made of hints first."""
    for rank in (1, 2, 0, 3, 4):
        known = [size for size in dict.fromkeys(hints) if 0 < size <= _LARGEST.get(rank, 0)][:_HINTS]
        sizes = list(dict.fromkeys([*known, *_SIZES.get(rank, ())]))
        yield from product(sizes, repeat=rank)
