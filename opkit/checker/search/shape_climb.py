"""Climbing: shapes and dtypes that are found by how far infer's checks, or forward, or backward get with them.

For what refuses the usual ones. Which values an input holds is settled in roles, how shapes are changed in climb.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import Enum
from itertools import combinations, product, takewhile
from operator import itemgetter
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import Evaluator, leaves_of
from opkit.checker.model.thresholds import FEW, MIXED_INPUTS, SOME
from opkit.checker.model.trial import WHOLE, Answer
from opkit.checker.search.answers import Standing, answer_of
from opkit.checker.search.hill_climb import (
    EVERY_SIZE,
    FEW_SIZES,
    RANKED_SHAPES,
    TAKEN,
    Depth,
    as_assignment,
    climb,
    depth_of,
)
from opkit.checker.search.kinds import is_list, resized, shapes_of
from opkit.checker.search.roles import Roles
from opkit.checker.search.scope import Role
from opkit.checker.search.shapes import Assignment, Shape, with_item, without_one_size
from opkit.listed import present
from opkit.record import mutable

#: Dtypes of whole numbers, and those that are tried where forward has to run to tell.
_WHOLE = ("int64", "int32", "bool", "uint8", "int8")
_TELLING = ("int64", "bool")
#: Of a vector that says where two parts of an axis begin and end.
_FEW_PARTS: Shape = (3,)
#: Further than any line of an infer function.
_PAST_INFER = float(sys.maxsize)
#: A shape in a message: of a gradient that does not fit, or of what an operation wants.
_SHAPE = re.compile(r"[(\[](\d{1,4}(?:, \d{1,4})*),?[)\]]")
#: A number in a message that may be a size, also in "3x4".
_SIZE = re.compile(r"(?:\b|(?<=\dx))\d{1,4}(?:\b|(?=x\d))")


class _Goal(Enum):
    """What a climb is to reach."""

    TAKES = "forward takes it"
    ANSWERS = "backward answers it"
    NOTHING_ELSE = "backward answers it; what forward alone takes leads nowhere"


@mutable
class Climber(Roles):
    """Finds cases step by step.

    Args:
        _named: the numbers in what forward raised, by how far it got: a size that is wanted is often among them.
        _told: the shapes in it, likewise, and in what is said of a gradient of another shape.
        _takes_whole: whether forward took whole numbers, where backward is to answer.
        _is_wanting: whether what it raised last mentions whole numbers.
        assumed: what inputs held where forward raised nothing and gave no numbers: other shapes may go with it.
        _last: where the last climb ended.
    """

    _goal: _Goal = _Goal.TAKES
    _attrs: Mapping[str, Any] = field(default_factory=dict)
    _named: defaultdict[Depth, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _told: defaultdict[Depth, dict[Shape, None]] = field(default_factory=lambda: defaultdict(dict))
    _is_wanting: bool = False
    _takes_whole: bool = False
    assumed: tuple[Role, ...] | None = None
    _last: Assignment = ()

    def answered(self, taken: Sequence[Case]) -> list[Case]:
        """Return cases of shapes that backward answers too, found by how far it gets; or nothing.

        Args:
            taken: what forward takes: an input of it may be meant without its first axis, the same for a whole batch.
        """
        before, found = self.roles, list[Case]()
        self._takes_whole = any(role.is_integer for role in self.held)
        for case in self._with_starts(taken):
            others = (self.attempt(shapes_of(other), self.attrs, 9100) for other in taken)
            return [case, *(other for other in others if other is not None)]
        self._goal, self._attrs = _Goal.ANSWERS, self.attrs
        dtypes = [role.dtype or own for role, own in zip(self.held, self.floats)]
        known: list[Any] = list(map(shapes_of, taken[:FEW]))
        axes = ((shapes, place) for shapes in known for place, one in enumerate(shapes) if one and not is_list(one))
        less = (with_item(shapes, place, shapes[place][1:]) for shapes, place in axes)
        self._last = next((one for one in less if self._depth(one, dtypes) == TAKEN), self._last)
        # What forward takes and backward does not may lead on, or be a dead end.
        for goal in (_Goal.ANSWERS, _Goal.NOTHING_ELSE) if self.args and not self.is_near else ():
            self._goal, self.roles = goal, None
            found = self.climbed(self.attrs)
            if found:
                break
            self.roles = before
        self._goal = _Goal.TAKES
        return found

    def _with_starts(self, taken: Sequence[Case]) -> Iterator[Case]:
        """Yield a case that backward answers where whole numbers begin the parts of an axis; others forward cuts."""
        before = self.held
        for case in taken[:SOME] if any(role.is_integer for role in before) and not self.is_near else ():
            for roles in self.with_offsets(before, shapes_of(case)):
                made = self.case(shapes_of(case), case.attrs, roles, seed=case.seed)
                is_taken = not made.is_empty and self.trial.attempt(made).is_accepted
                if is_taken and answer_of(self.checkable, made, compares=False).standing.is_answered:
                    self.roles = roles
                    yield made

    @property
    def _sizes(self) -> Mapping[int, int]:
        """How many sizes of each axis a climb tries, by rank."""
        return EVERY_SIZE if self.is_declared else FEW_SIZES

    def climbed(self, attrs: Mapping[str, Any], shapes: Assignment | None = None) -> list[Case]:
        """Return a case of the shapes that get furthest, if that is far enough, and some that follow from it.

        Args:
            attrs: the attributes.
            shapes: of all inputs, where they are declared: only what these hold is found then.
        """
        self._attrs = attrs
        hints = [*self.checkable.sizes, *self.hinted_sizes]

        def sizes(reached: Depth) -> Sequence[int]:
            return [*(size for size, _ in self._named[reached].most_common(2)), *hints]

        for dtypes in takewhile(lambda _: not self.trial.is_over, self._ranked(shapes)):

            def ask(assignment: Assignment, dtypes: Sequence[str] = dtypes) -> Depth:
                return self._depth(assignment, dtypes, is_run=not self.is_declared)

            if shapes is not None:
                found, reached = shapes, ask(shapes)
            elif self._last and ask(self._last) == TAKEN:  # what was wanting were whole numbers, not shapes
                found, reached = self._last, TAKEN
            else:
                alike = RANKED_SHAPES if self._goal is _Goal.TAKES else ()
                told = self._told.__getitem__
                is_enough = self._wants_whole(dtypes)
                found, reached = climb(self.args, ask, sizes, None, self._sizes, alike, is_enough, told)
            former = self.roles
            if former is None and reached == TAKEN:
                self.roles = self._narrowed(dtypes, found) or self.roles_of_dtypes(self._unwhole(dtypes, found))
                self.assumed = self.roles
            elif former is None and tuple(dtypes) != self.floats:
                self.roles = self.roles_of_dtypes(dtypes)
            # What stops forward may be the values, not the shapes that it got furthest with.
            is_worth_it = reached == TAKEN or (self._goal is _Goal.TAKES and former is None)
            for one in (found, *(_shortened(found, dtypes) if reached != TAKEN else ())) if is_worth_it else ():
                case = self.attempt(one, attrs, 9000)
                if case is not None:
                    return [case, *self._climbed_on(one, ask, sizes)]
            self._last, self.roles = found, former
        return []

    def _ranked(self, declared: Assignment | None) -> Iterator[Sequence[str]]:
        """Yield dtypes of all inputs: whole numbers where infer's checks or forward get further by them.

        They are looked for on arrays alike first, then where the last climb ended; without infer one more is assumed in
        the end, or at once where what is raised mentions them.
        """
        floats = self.floats
        if self.roles is not None:
            yield tuple(role.dtype or own for role, own in zip(self.roles, floats))
            return
        if self._goal is not _Goal.TAKES and not self._takes_whole:
            yield floats  # a gradient that does not fit is none of a whole number
            return
        alike = [as_assignment(self.args, [shape] * len(floats)) for shape in RANKED_SHAPES]
        shapes = alike if declared is None else [declared]
        last: Sequence[str] = ()
        dtypes = self._whole(floats, shapes)
        is_said = any(self._depth(one, dtypes) and self._is_wanting for one in shapes)
        for is_time in (is_said, not is_said):
            yield from self.more_whole(dtypes, _TELLING[:1]) if is_time and not self.is_declared else ()
            while dtypes != last:
                yield dtypes
                last, dtypes = dtypes, self._whole(dtypes, [self._last])

    def _whole(self, dtypes: Sequence[str], shapes: Sequence[Assignment]) -> Sequence[str]:
        """Return dtypes with one input after the other made whole, as long as the op gets further by it."""

        def depth(dtypes: Sequence[str]) -> Depth:
            return max(self._depth(one, dtypes) for one in shapes)

        best = depth(dtypes)
        while True:
            more = ((depth(one), one) for one in self.more_whole(dtypes))
            further = max(more, key=itemgetter(0), default=(best, dtypes))
            if further[0] <= best:
                return dtypes
            best, dtypes = further

    def _wants_whole(self, dtypes: Sequence[str]) -> Callable[[Assignment], bool]:
        """Return whether forward asks for whole numbers on shapes that were just tried, and gets further by them."""
        return lambda shapes: self._is_wanting and self._whole(dtypes, [shapes]) != dtypes

    def _unwhole(self, dtypes: Sequence[str], shapes: Assignment) -> Sequence[str]:
        """Return dtypes with every input a float that may be one: else its gradient would not be checked.

        Places that forward cuts off floats lie in an array by chance: several draws tell.
        """
        for index, own in enumerate(self.floats):
            other = with_item(tuple(dtypes), index, own)
            if dtypes[index] != own and all(self._depth(shapes, other, seed=seed) == TAKEN for seed in range(FEW)):
                dtypes = other
        return dtypes

    def _narrowed(self, dtypes: Sequence[str], shapes: Assignment) -> tuple[Role, ...] | None:
        """Return which floats forward takes where whole numbers, or floats by chance, got furthest; None for all.

        Those between 0 and 1, say. Each must change what it gives: what is cut to 0 stands for a place.
        """
        is_float = tuple(dtypes) == self.floats
        if is_float and all(self._depth(shapes, dtypes, seed=seed) == TAKEN for seed in range(FEW)):
            return None
        self.roles = None
        case = self.attempt(shapes, self._attrs, 9000)
        roles, self.roles = self.roles, None
        if case is None or roles is None or case.is_empty:
            return None
        given, other = self.trial.probe(case), self.case(shapes, case.attrs, roles, seed=9001)
        whole = [arg.name for arg, dtype, own in zip(self.args, dtypes, self.floats) if dtype != own]
        moved = (replace(case, inputs={**case.inputs, name: other.inputs[name]}) for name in whole)
        return None if any(given.gives_the_same(self.trial.probe(one)) for one in moved) else roles

    def more_whole(self, dtypes: Sequence[str], whole: Sequence[str] = ()) -> list[Sequence[str]]:
        """Return dtypes with one more input made whole, the last ones first; one stays that can be differentiated.

        Two at once as well, which may be added to one place; where infer is asked, more: it may compare them before it
        looks at what they are.
        """
        floats = [index for index, own in enumerate(self.floats) if dtypes[index] == own]
        most = min(len(floats) - 1, MIXED_INPUTS if self.is_declared else 2)
        return [
            tuple(dtype if index in chosen else own for index, own in enumerate(dtypes))
            for count in range(1, most + 1)
            for chosen in combinations(floats[::-1], count)
            for dtype in whole or (_WHOLE if self.is_declared else _TELLING)
        ]

    def roles_of(self, case: Case) -> tuple[Role, ...] | None:
        """Return what the inputs of a case hold, None where all hold floats."""
        held = {leaf.name: array.dtype for leaf, array in leaves_of(case.inputs)}
        dtypes = [held[arg.name] if arg.name in held else np.dtype(float) for arg in self.args]
        names = [dtype.name if dtype.kind in "iub" else own for dtype, own in zip(dtypes, self.floats)]
        return self.roles_of_dtypes(names) if tuple(names) != self.floats else None

    def roles_of_dtypes(self, dtypes: Sequence[str]) -> tuple[Role, ...]:
        """Return what inputs of these dtypes hold: floats, or whole numbers whose limit is to be found."""
        return tuple(Role() if dtype == own else Role("real", dtype, 2) for dtype, own in zip(dtypes, self.floats))

    def _depth(self, assignment: Assignment, dtypes: Sequence[str], is_run: bool = True, seed: int = 0) -> Depth:
        """Return how far infer's checks get, and past them forward, if it is to run."""
        past: Depth = ()
        self._is_wanting = False
        if self.is_declared:
            line = self.trial.reach(self.descs(assignment, dtypes), self._attrs)
            past = (_PAST_INFER,)
            if line < float("inf"):
                return (line,)
            if not is_run:
                return TAKEN
        where = self.checkable.forward_where
        if where is None or self.trial.is_over:
            return past
        case = self.case(assignment, self._attrs, self.roles_of_dtypes(dtypes), seed=seed)
        said: list[str] = []
        depth = depth_of(lambda: self.checkable.forward(case.inputs, case.attrs), where.file, said)
        self.trial.counts[Answer.RAISED] += depth != TAKEN
        if self._goal is not _Goal.TAKES:
            depth = (0.0, *depth) if depth != TAKEN else self._answering(case, where.file, said)
        depth = depth if depth == TAKEN else (*past, *depth)
        self._is_wanting = bool(said and WHOLE.search(said[-1]))
        self._named[depth].update(size for text in said for size in {*map(int, _SIZE.findall(text))} if size > 1)
        shapes = (tuple(map(int, found.split(", "))) for text in said for found in _SHAPE.findall(text))
        self._told[depth].update((shape, None) for shape in shapes if all(shape))  # [0, 1] is a range of values
        return depth

    def _answering(self, case: Case, file: str, said: list[str]) -> Depth:
        """Return how far backward gets on a case that forward takes."""
        ev = Evaluator(self.checkable, case)
        with suppress(Exception):  # user code: what it raises is asked below
            ev.prepare()
            if not (ev.leaves and ev.slots):
                return (-1.0,)  # it is asked for nothing
        answer = answer_of(self.checkable, case, compares=False)
        standing = answer.standing
        if standing.is_answered or self._goal is _Goal.NOTHING_ELSE:
            return TAKEN if standing.is_answered else (-1.0,)
        number = _SIZE.search(answer.said)  # of the first gradient that does not fit
        further = float(number.group()) if number else 0.0
        if standing is Standing.MISFIT:
            said.append(answer.said)
            return (2.0, further)

        def call() -> None:
            ev.prepare()
            ev.gradients([np.ones(item.shape, item.dtype) for item in ev.outputs])

        return (1.0, *depth_of(call, file, said), further)

    def _climbed_on(
        self,
        first: Assignment,
        ask: Callable[[Assignment], Depth],
        sizes: Callable[[Depth], Sequence[int]],
    ) -> list[Case]:
        """Climb again from shapes that are taken with one size of the first input changed: others have to follow.

        They may stay as they are, or change the same size where it stands; only else is there something to climb. Also
        from those shapes without one size that forward need not have, wherever it stands: a batch, or places.
        """
        if any(arg.is_variadic for arg in self.args) or len(first) < 2:
            return []
        fewer = [one for one in without_one_size(first) if ask(one) == TAKEN]
        cases = [case for case in (self.attempt(one, self._attrs, 9000) for one in fewer) if case is not None]
        for shapes in (first, *fewer):
            shape: Shape = shapes[0]  # type: ignore[assignment]
            sizes_of = (*((axis, size + 2) for axis, size in enumerate(shape)), *product(range(len(shape)), (1, 0)))
            for number, (axis, size) in enumerate(sizes_of[:SOME]):
                start: Any = (with_item(shape, axis, size), *shapes[1:])
                alike = resized(shapes, shape[axis], size)
                known = ((one, TAKEN) for one in (start, alike) if ask(one) == TAKEN)
                found, reached = next(known, None) or climb(self.args, ask, sizes, start, self._sizes)
                cases += present(self.attempt(found, self._attrs, 9001 + number) if reached == TAKEN else None)
        return cases


def _shortened(shapes: Assignment, dtypes: Sequence[str]) -> Iterator[Assignment]:
    """Yield shapes with a vector of whole numbers made short: there are fewer parts of an axis than places on it."""
    for place, (shape, dtype) in enumerate(zip(shapes, dtypes)):
        if not dtype.startswith("float") and len(shape or ()) == 1 and not is_list(shape):
            yield with_item(shapes, place, _FEW_PARTS)
