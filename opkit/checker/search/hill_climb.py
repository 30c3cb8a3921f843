"""Hill climbing: shapes for an infer function or a forward that refuses all natural ones, found by how far they get.

Combinatorics and asking; nothing is run but what is handed in.

Depth: how far forward gets with some inputs before it raises: the instruction that raises, then how many ran.

Watches the user's own file alone; what was returned is not looked at.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import combinations, product
from types import CodeType, FrameType
from typing import Any, TypeAlias

from opkit.checker.model.checkable import Arg
from opkit.checker.model.thresholds import FEW, LARGEST_HINT
from opkit.checker.search.shapes import Assignment, Shape

#: The further the larger.
Depth: TypeAlias = tuple[float, ...]
#: Of inputs that are taken.
TAKEN: Depth = (float("inf"),)

_real = lru_cache(maxsize=64)(os.path.realpath)


def depth_of(call: Callable[[], object], file: str, said: list[str] | None = None) -> Depth:
    """Return how far a call gets in the functions of a file, TAKEN where nothing is raised.

    Of two guards of one condition the same statement raises; the second lets more instructions run before it does.

    Args:
        call: runs user code.
        file: that the user wrote.
        said: takes up what was raised.
    """
    file = _real(file)
    ran: set[tuple[CodeType, int]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and _real(frame.f_code.co_filename) != file:
            return None
        frame.f_trace_opcodes = True
        ran.add((frame.f_code, frame.f_lasti))
        return watch

    former = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    except (Exception, SystemExit) as error:  # user code
        if said is not None:
            with suppress(Exception):  # a message is user code too
                said.append(str(error))
        return (*reached_by(error, file), float(len(ran)))
    finally:
        sys.settrace(former)
    return TAKEN


def reached_by(error: BaseException, file: str) -> Depth:
    """Return the instruction of the file's outermost function at which an exception left it."""
    trace, file = error.__traceback__, _real(file)
    while trace is not None and _real(trace.tb_frame.f_code.co_filename) != file:
        trace = trace.tb_next
    return (-1.0,) if trace is None else (float(trace.tb_lasti),)


#: Sizes for shapes, by rank; numbers that occur in the definition come before these.
_SIZES = {
    1: (5, 4, 3, 2, 1, 6, 8, 7, 9, 10, 12, 16),
    2: (3, 4, 2, 5, 1, 6, 7, 8, 9, 10),
    3: (3, 4, 2, 5, 1),
    4: (2, 4, 3, 5),
}
#: Where infer alone is asked.
EVERY_SIZE = {rank: len(sizes) for rank, sizes in _SIZES.items()}
#: Where each shape costs a call of forward.
FEW_SIZES = {1: 5, 2: 4, 3: 3, 4: 2}
#: Shapes of all inputs with which dtypes, and readings of a signature, are compared.
RANKED_SHAPES: tuple[Shape, ...] = ((3, 4), (5,), (2, 3, 4), (2, 4, 3, 3))


def climb(
    args: Sequence[Arg],
    ask: Callable[[Assignment], Depth],
    sizes: Callable[[Depth], Sequence[int]] = lambda reached: (),
    start: Sequence[Shape] | None = None,
    most: Mapping[int, int] = EVERY_SIZE,
    alike: Sequence[Shape] = (),
    is_enough: Callable[[Assignment], bool] = lambda further: False,
    told: Callable[[Depth], Iterable[Shape]] = lambda reached: (),
) -> tuple[Assignment, Depth]:
    """Return the shapes that get furthest, and how far; TAKEN where they are taken.

    Args:
        args: the declared inputs.
        ask: how far an assignment gets.
        sizes: sizes that are worth a try once that far.
        start: shapes to begin with, of which the first input's stays.
        most: sizes of each axis that are tried, by rank.
        alike: shapes that all inputs get at first; where infer alone is asked, all shapes are.
        told: shapes that are worth a try once that far.
        is_enough: whether shapes that got further than all before end the climb: other things stop forward there.
    """
    every = range(start is not None, len(args))
    current: list[Shape] = list(start or [(3, 4)] * len(args))
    found = as_assignment(args, current)
    best = ask(found)
    for _ in range(FEW if best != TAKEN else 0):
        before = best
        options = [*dict.fromkeys((*(start or ()), *told(best))), *_shapes(sizes(best), most)]
        few = [shape for shape in options if len(shape) < 3 and max(shape, default=0) < 8]
        same = (*alike, *(options if most is EVERY_SIZE else ()))
        together = [dict.fromkeys(every, shape) for shape in same if start is None]
        single = [{index: shape} for index in every for shape in options]
        # All alike, then one after the other, then some together; where these are many, only if nothing else led on.
        is_much = len(every) > 2 or most is EVERY_SIZE
        for moves, is_last in ((together, False), (single, False), (_joint(every, few), is_much)):
            for move in moves if best == before or not is_last else ():
                changed = [move.get(index, kept) for index, kept in enumerate(current)]
                further = as_assignment(args, changed)
                reached = ask(further)
                if reached > best:
                    best, current, found = reached, changed, further
                    if best == TAKEN or is_enough(found):
                        return found, best
        if best == before:
            break
    return found, best


def _joint(every: Sequence[int], few: Sequence[Shape]) -> Iterator[dict[int, Shape]]:
    """Yield shapes of two inputs; of two or three alike where there are more, which may have to be."""
    if len(every) == 2:
        yield from (dict(zip(every, shapes)) for shapes in product(few, repeat=2))
    else:
        groups = (*combinations(every, 2), *combinations(every, 3))
        yield from (dict.fromkeys(group, shape) for group in groups for shape in few)


def as_assignment(args: Sequence[Arg], shapes: Sequence[Shape]) -> Assignment:
    """Return one shape of each input as an assignment: a list holds several arrays of it."""
    return tuple((shape,) * max(2, arg.min_count) if arg.is_variadic else shape for arg, shape in zip(args, shapes))


def _shapes(hints: Sequence[int], most: Mapping[int, int]) -> Iterator[Shape]:
    """Shapes of rank 1, 2, 0, 3, 4, from hints first."""
    for rank in (1, 2, 0, 3, 4):
        known = [size for size in dict.fromkeys(hints) if 0 < size <= LARGEST_HINT.get(rank, 0)][:FEW]
        sizes = list(dict.fromkeys([*known, *_SIZES.get(rank, ())[: most.get(rank, 0)]]))
        yield from product(sizes, repeat=rank)
