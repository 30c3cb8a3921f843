"""Usual shapes: those that infer and forward take, the usual ones first, then those that infer's checks lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import islice, product
from typing import Any

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import (
    FEW,
    LEAST_EFFORT,
    MANY,
    MIXED_INPUTS,
    MIXED_PATIENCE,
    MOST_SHAPES,
    PATIENCE,
    PLENTY,
    SHAPE_CASES,
    SHAPE_CASES_OF_MANY,
    SOME,
)
from opkit.checker.model.trial import Answer
from opkit.checker.search.kinds import kind_between, shapes_of
from opkit.checker.search.roles import is_alike
from opkit.checker.search.shape_climb import Climber
from opkit.checker.search.shapes import Assignment, assignments, declared
from opkit.listed import present
from opkit.record import mutable


@mutable
class UsualShapes(Climber):
    """Finds shapes with ordinary values; dtypes and roles are settled by it.

    Args:
        _silent: shapes with which forward raises nothing and gives no numbers, of plain floats.
    """

    _silent: list[Assignment] = field(default_factory=list)

    def cases(self) -> list[Case]:
        """Return cases of usual shapes, or of those that are found by how far the op gets where it refuses these."""
        first = self.checkable.first
        if first is not None:
            self.roles = self.roles_of(first)
            shapes = self._shape_cases()
            if shapes_of(first) not in map(shapes_of, shapes):
                again = self.attempt(shapes_of(first), first.attrs, first.seed)
                # Where no time is left: it was taken while loading.
                shapes += present(first if again is None and self.trial.is_late else again)
            if shapes:
                return shapes
            self.roles = None
        for precision in self._precisions():
            self.dtype, self.mixed = precision
            shapes = self._shape_cases()
            if shapes:
                return shapes
        return []

    def _precisions(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the dtype of all float inputs, then one of each where infer takes none that all have."""
        both = ("float64", "float32")
        yield from ((dtype, ()) for dtype in both)
        if 1 < len(self.args) <= MIXED_INPUTS and not self._got_past_infer():
            yield from (("float64", mixed) for mixed in product(both, repeat=len(self.args)) if len({*mixed}) > 1)

    def _got_past_infer(self) -> bool:
        """Return whether forward was ever run."""
        return any(count for answer, count in self.trial.counts.items() if answer is not Answer.REFUSED)

    def _shape_cases(self) -> list[Case]:
        most = SHAPE_CASES if len(self.args) == 1 else SHAPE_CASES_OF_MANY
        return self.accepted(self.attrs, round(most * min(max(self.options.effort, LEAST_EFFORT), 1.0)), 0)

    def accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int = MOST_SHAPES) -> list[Case]:
        """Return cases of usual shapes with these attributes.

        Args:
            attrs: the attributes.
            limit: cases at most.
            seed: of their values.
            most: assignments of shapes to look at.
        """
        is_new = self.roles is None
        if is_new and len(self.args) > 1:
            if self.is_declared:
                return self._declared(attrs, limit, seed, most)
            # Each shape costs a call of forward for each kind of value: plain floats in all shapes come first.
            self.is_plain = True
            before = self.trial.counts.copy()
            first = self._accepted(attrs, 1, seed, PLENTY)
            if first and first[0].is_empty:
                first = self._accepted(attrs, MANY, seed, PLENTY)
            if all(case.is_empty for case in first):  # these say little of values
                self.is_plain = False
                self.roles = None if first else self.roles
                # Where forward gives no numbers, other values are what is wanted, and not other shapes.
                silent = (self.attempt(one, attrs, seed) for one in self._silent[:SOME])
                if any(case is not None for case in silent):
                    return self._accepted(attrs, limit, seed, most)
                climbed = self._climbed(attrs)
                if climbed:
                    usual = self._accepted(attrs, limit, seed, most) if self.has_shapes else []
                    return (usual or climbed)[:limit]
                self.is_plain = True
            found = self._accepted(attrs, max(limit, MANY), seed, most)
            self.is_plain = False
            tried = self.trial.counts - before
            is_chance = tried[Answer.NONFINITE] > tried[Answer.ACCEPTED]
            if not is_chance and any(_is_telling(case) for case in found):
                return sorted(found, key=lambda case: not _is_telling(case))[:limit]
            self.roles = None
        found = self._accepted(attrs, limit, seed, most)
        if not found and self.roles is None and self.assumed is not None:
            self.roles = self.assumed
            found = self._accepted(attrs, limit, seed, most)
            self.roles = self.roles if found else None
        if found or self.has_shapes or (self.is_declared and not is_new):
            return found
        return self.climbed(attrs)

    def _declared(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int) -> list[Case]:
        """Return cases of several inputs of which infer says what it takes: of floats, else of whole numbers in some.

        Arrays without elements say little of what forward takes.
        """
        found, former = self._accepted(attrs, limit, seed, most), self.roles
        if any(not case.is_empty for case in found):
            return found
        for dtypes in self.more_whole(self.floats):
            self.roles = self.roles_of_dtypes(dtypes)
            if any(not case.is_empty for case in self._accepted(attrs, 1, seed, MIXED_PATIENCE)):
                return self._accepted(attrs, limit, seed, most)
        self.roles = former
        climbed = [] if found else self._climbed(attrs)
        return (self._accepted(attrs, limit, seed, most) or climbed)[:limit] if climbed else found

    def _climbed(self, attrs: Mapping[str, Any]) -> list[Case]:
        is_said = self.has_shapes or self.checkable.dimensions.axes
        every = [*(islice(self._assignments(), SOME) if is_said else ()), *([] if self.has_shapes else [None])]
        return next(filter(None, (self.climbed(attrs, one) for one in every)), [])

    def _accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int) -> list[Case]:
        found: list[Case] = []
        seen: set[tuple[object, ...]] = set()
        trial, is_single = self.trial, len(self.args) == 1
        alike = latest = 0
        wanting = trial.wanting
        for number, assignment in enumerate(self._assignments()):
            if not is_single and alike >= SOME and is_alike(assignment) and 0 not in (assignment[0] or ()):
                continue
            is_tired = number > latest + PATIENCE and not self.is_declared  # each shape costs calls of forward
            if len(found) >= limit or number >= most or (found and is_tired):
                break
            if (number == PATIENCE and not self._got_past_infer()) or trial.is_over:
                break
            if self.is_plain and not found and trial.wanting - wanting >= FEW:
                break  # forward asks for whole numbers: floats in yet other shapes would only cost time
            kind = kind_between(assignment)
            if kind in seen and number > 2 * MANY:
                continue
            silent = trial.counts[Answer.NONFINITE]
            case = self.attempt(assignment, attrs, seed * 1000 + number)
            if self.is_plain and case is None and trial.counts[Answer.NONFINITE] > silent:
                self._silent.append(assignment)
            if case is not None and (kind not in seen or is_single):
                seen.add(kind)
                found.append(case)
                latest = number
                alike += is_alike(assignment)
        return found

    def _assignments(self) -> Iterator[Assignment]:
        dimensions = self.checkable.dimensions
        if dimensions.axes:
            return declared(dimensions, self.args)
        if self.options.shapes:
            return iter([tuple(self.options.shapes.get(arg.name, ()) for arg in self.args)])
        return assignments(self.args, self.hinted_sizes, is_even=not self.is_declared)


def _is_telling(case: Case) -> bool:
    """Return whether all arrays have several elements."""
    return min(case.sizes, default=0) > 1
