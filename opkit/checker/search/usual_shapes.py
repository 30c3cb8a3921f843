"""Usual shapes: those that infer and forward take, the usual ones first, then those that infer's checks lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
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
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.kinds import kind_between
from opkit.checker.search.roles import Roles
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.shape_climb import Climber
from opkit.checker.search.shapes import Assignment, assignments, declared
from opkit.record import mutable


@mutable
class UsualShapes:
    """Finds shapes with ordinary values.

    Args:
        scope: of the search; its dtype and roles are settled here.
        roles: proposes what the inputs hold.
        climber: finds what the usual shapes are not.
    """

    scope: SearchScope
    roles: Roles
    climber: Climber = field(init=False)

    def __post_init__(self) -> None:
        self.climber = Climber(self.scope, self.roles, self.attempt)

    def cases(self) -> list[Case]:
        """Return cases of usual shapes, or of those that are found by how far the op gets where it refuses these."""
        first = self.scope.checkable.first
        if first is not None:
            self.scope.roles = self.climber.roles_of(first)
            shapes = self._shape_cases()
            if shapes_of(first) not in map(shapes_of, shapes):
                again = self.attempt(shapes_of(first), first.attrs, first.seed)
                again = first if again is None and self.scope.trial.is_late else again  # it was taken while loading
                shapes += [] if again is None else [again]
            if shapes:
                return shapes
            self.scope.roles = None
        for precision in self._precisions():
            self.scope.dtype, self.scope.mixed = precision
            shapes = self._shape_cases()
            if shapes:
                return shapes
        return []

    def _precisions(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the dtype of all float inputs, then one of each where infer takes none that all have."""
        yield "float64", ()
        yield "float32", ()
        count = len(self.scope.args)
        if 1 < count <= MIXED_INPUTS and not self._got_past_infer():
            yield from (
                ("float64", mixed) for mixed in product(("float64", "float32"), repeat=count) if len({*mixed}) > 1
            )

    def _got_past_infer(self) -> bool:
        """Return whether forward was ever run."""
        return any(count for answer, count in self.scope.trial.counts.items() if answer is not Answer.REFUSED)

    def _shape_cases(self) -> list[Case]:
        attrs = self.scope.attrs
        limit = round(
            (SHAPE_CASES if len(self.scope.args) == 1 else SHAPE_CASES_OF_MANY)
            * min(max(self.scope.options.effort, LEAST_EFFORT), 1.0)
        )
        return self.accepted(attrs, limit, 0)

    def accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int = MOST_SHAPES) -> list[Case]:
        """Return cases of usual shapes with these attributes.

        Args:
            attrs: the attributes.
            limit: cases at most.
            seed: of their values.
            most: assignments of shapes to look at.
        """
        scope = self.scope
        is_declared = scope.checkable.infer is not None
        is_new = scope.roles is None
        if is_new and is_declared and len(scope.args) > 1:
            return self._declared(attrs, limit, seed, most)
        if is_new and len(scope.args) > 1:
            # Each shape costs a call of forward for each kind of value: plain floats in all shapes come first.
            self.roles.is_plain = True
            before = scope.trial.counts.copy()
            if not self._accepted(attrs, 1, seed, PLENTY):
                self.roles.is_plain = False
                climbed = self._climbed(attrs)
                if climbed:
                    usual = self._accepted(attrs, limit, seed, most) if scope.has_shapes else []
                    return (usual or climbed)[:limit]
                self.roles.is_plain = True
            found = self._accepted(attrs, max(limit, MANY), seed, most)
            self.roles.is_plain = False
            telling = [case for case in found if min(case.sizes, default=0) > 1]
            tried = scope.trial.counts - before
            if telling and tried[Answer.NONFINITE] <= tried[Answer.ACCEPTED]:  # others are taken by chance alone
                return [*telling, *(case for case in found if case not in telling)][:limit]
            scope.roles = None
        found = self._accepted(attrs, limit, seed, most)
        if not found and scope.roles is None and self.climber.assumed is not None:
            scope.roles = self.climber.assumed
            found = self._accepted(attrs, limit, seed, most)
            scope.roles = scope.roles if found else None
        if found or scope.has_shapes or (is_declared and not is_new):
            return found
        return self.climber.cases(attrs)

    def _declared(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int) -> list[Case]:
        """Return cases of several inputs of which infer says what it takes: of floats, else of whole numbers in some.

        Arrays without elements say little of what forward takes.
        """
        scope = self.scope
        found = self._accepted(attrs, limit, seed, most)
        if any(not case.is_empty for case in found):
            return found
        former = scope.roles
        for dtypes in self.climber.more_whole(scope.floats):
            scope.roles = self.climber.roles_of_dtypes(dtypes)
            if any(not case.is_empty for case in self._accepted(attrs, 1, seed, MIXED_PATIENCE)):
                return self._accepted(attrs, limit, seed, most)
        scope.roles = former
        if found:
            return found
        climbed = self._climbed(attrs)
        return (self._accepted(attrs, limit, seed, most) or climbed)[:limit] if climbed else []

    def _climbed(self, attrs: Mapping[str, Any]) -> list[Case]:
        return self.climber.cases(attrs, next(self._assignments(())) if self.scope.has_shapes else None)

    def _accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int) -> list[Case]:
        found: list[Case] = []
        seen: set[tuple[object, ...]] = set()
        sizes = self.scope.hinted_sizes()
        alike = 0
        wanting = self.scope.trial.wanting
        latest = 0
        for number, assignment in enumerate(self._assignments(sizes)):
            if (
                len(self.scope.args) > 1
                and alike >= SOME
                and self._is_alike(assignment)
                and 0 not in (assignment[0] or ())
            ):
                continue
            if len(found) >= limit or number >= most:
                break
            if found and number > latest + PATIENCE and self.scope.checkable.infer is None:
                break  # each shape costs calls of forward
            if (number == PATIENCE and not self._got_past_infer()) or self.scope.trial.is_over:
                break
            if self.roles.is_plain and not found and self.scope.trial.wanting - wanting >= FEW:
                break  # forward asks for whole numbers: floats in yet other shapes would only cost time
            kind = kind_between(assignment)
            if kind in seen and number > 2 * MANY:
                continue
            case = self.attempt(assignment, attrs, seed * 1000 + number)
            if case is not None and (kind not in seen or len(self.scope.args) == 1):
                seen.add(kind)
                found.append(case)
                latest = number
                alike += self._is_alike(assignment)
        return found

    def _assignments(self, sizes: Sequence[int]) -> Iterator[Assignment]:
        if self.scope.options.shapes:
            yield tuple(self.scope.options.shapes.get(arg.name, ()) for arg in self.scope.args)
            return
        if self.scope.checkable.dimensions.axes:
            yield from declared(self.scope.checkable.dimensions, self.scope.args)
            return
        yield from assignments(self.scope.args, sizes, is_even=self.scope.checkable.infer is None)

    def attempt(self, assignment: Assignment, attrs: Mapping[str, Any], seed: int) -> Case | None:
        """Return a case of these shapes that lies in the domain, or None."""
        for roles in self.roles.candidates(assignment, attrs):
            if self.scope.trial.is_given_up:
                return None
            case = self.scope.case(assignment, attrs, roles, seed=seed)
            outcome = self.scope.trial.attempt(case)
            if not outcome.is_accepted:
                continue
            is_plain = self._is_alike(assignment) and not any(role.is_integer for role in roles)
            if is_plain or outcome.keeps_promise():
                if self.scope.roles is None or any(role.is_integer for role in roles):
                    self.scope.roles = roles
                return case
            return None if outcome.may_have_broadcast() or self.scope.roles != roles else case
        return None

    @staticmethod
    def _is_alike(assignment: Assignment) -> bool:
        return len({shape for shape in assignment if shape is not None}) <= 1
