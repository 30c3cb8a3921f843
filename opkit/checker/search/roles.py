"""Roles: what inputs may hold, by the values that forward takes; which hold whole numbers is found by climbing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import FEW, MANY, MIXED_DOMAINS, MIXED_INPUTS, PLENTY
from opkit.checker.model.trial import Answer, Attempt
from opkit.checker.search.kinds import every_shape, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.values import DOMAINS
from opkit.ir import TensorDesc
from opkit.record import mutable

_PLACES = ("int64", "int32")
#: What forward raises where numbers are not in order: these are tried sooner then.
_IN_ORDER = re.compile("sort|order|ascend|increas|monoton", re.IGNORECASE)


@mutable
class Roles(SearchScope):
    """Tries shapes with what their inputs may hold; what was taken is kept in ``roles``.

    Args:
        is_plain: whether floats alone are tried.
    """

    is_plain: bool = False

    def attempt(self, assignment: Assignment, attrs: Mapping[str, Any], seed: int) -> Case | None:
        """Return a case of these shapes that lies in the domain, or None: the first that several draws lie in."""
        by_chance: tuple[Case, tuple[Role, ...]] | None = None
        for roles in self._candidates(assignment, attrs):
            if self.trial.is_given_up:
                return None
            case = self.case(assignment, attrs, roles, seed=seed)
            outcome = self.trial.attempt(case)
            if not outcome.is_accepted:
                continue
            has_whole = any(role.is_integer for role in roles)
            if outcome.keeps_promise() or (is_alike(assignment) and not has_whole):
                if self.roles is None and not has_whole and not self._takes_all(case, roles):
                    by_chance = by_chance or (case, roles)
                    continue
                if self.roles is None or has_whole:
                    self.roles = roles
                return case
            return None if outcome.may_have_broadcast() or self.roles != roles else case
        if by_chance is None or self.is_plain:
            return None
        case, self.roles = by_chance
        return case

    def _takes_all(self, case: Case, roles: Sequence[Role]) -> bool:
        """Return whether forward takes many draws of a case's shapes: two numbers are in order half of the time."""
        count = FEW if self.trial.is_slow else MANY
        draws = (self.case(shapes_of(case), case.attrs, roles, seed=case.seed + 1 + number) for number in range(count))
        return all(self.trial.probe(one).is_accepted for one in draws)

    def _candidates(self, assignment: Assignment, attrs: Mapping[str, Any]) -> Iterator[tuple[Role, ...]]:
        """Yield what the inputs may be filled with: what worked before, then other domains, then integers."""
        count, known, trial = len(self.args), self.roles, self.trial
        dtypes = [role.dtype or own for role, own in zip(self.held, self.floats)]
        if trial.reach(self.descs(assignment, dtypes), attrs) < float("inf"):
            trial.counts[Answer.REFUSED] += 1
            return
        if known is not None:
            starts = list(map(_begins, known))
            if any(starts):
                for roles in self.with_offsets(known, assignment):
                    if list(map(_begins, roles)) == starts:
                        yield from self._with_limits(roles, assignment, attrs)
                return
            is_known = all(role.is_fixed or not role.is_integer for role in known)
            yield from [known] if is_known else self._with_domains(known, assignment, attrs)
            return
        yield (Role(),) * count
        said = trial.said
        if _IN_ORDER.search(said):
            yield from _ascending((Role(),) * count)
        if self.is_plain:
            return
        is_told = not said  # where nothing raised, other values may be what is wanted
        others = [Role(name) for name in DOMAINS if name != "real"]
        if any(shape and len(shape) > 1 and shape[-1] == shape[-2] for shape in assignment):
            others.insert(0, Role(structure="definite"))
        for role in others:
            yield (role,) * count
            is_told |= trial.said != said
            if role.domain == "unit" and not is_told:  # it is not about the values
                return
        if 1 < count <= MIXED_INPUTS:
            mixed = product(list(DOMAINS)[:MIXED_DOMAINS], repeat=count)
            yield from (tuple(map(Role, chosen)) for chosen in mixed if len({*chosen}) > 1)
            yield from _ascending((Role(),) * count)

    def descs(self, assignment: Assignment, dtypes: Sequence[str]) -> dict[str, list[TensorDesc]]:
        """Describe inputs of these shapes and dtypes."""
        parts = zip(self.args, assignment, dtypes)
        return {arg.name: [TensorDesc(one, dtype) for one in every_shape((shape,))] for arg, shape, dtype in parts}

    def _with_domains(
        self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]
    ) -> Iterator[tuple[Role, ...]]:
        """Yield the roles with a limit for the whole numbers, and floats of the usual domains in turn."""
        said = set[str]()
        for domain in ("real", "positive", "unit"):
            if domain == "real" or all(role.is_integer or role == Role() for role in roles):
                mapped = tuple(Role(domain) if role == Role() else role for role in roles)
                yield from self._with_limits(mapped, assignment, attrs)
                if self.trial.said and self.trial.said in said:
                    return  # it is not about the values
                said.add(self.trial.said)
        for mapped in _ascending(roles):
            yield from self._with_limits(mapped, assignment, attrs)

    def _with_limits(
        self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]
    ) -> Iterator[tuple[Role, ...]]:
        """Yield the roles with the largest limit that forward takes for the integers of these shapes.

        Where it takes none of the least numbers, all alike or not, larger ones are not tried.
        """

        def limited(limit: int, least: int) -> tuple[Role, ...]:
            return tuple(replace(role, limit=limit, least=least) if _is_free(role) else role for role in roles)

        def case(limit: int, least: int) -> Case:
            return self.case(assignment, attrs, limited(limit, least))

        sizes = {*chain(*every_shape(assignment))}
        for least, named in ((1, attrs.values()), (2, self.checkable.constants)):
            sizes |= {value for value in named if type(value) is int and least <= value <= PLENTY}
        if not any(map(_is_free, roles)):
            yield tuple(roles)
        elif any(self.trial.attempt(case(*few)).is_accepted for few in ((1, 0), (2, 1), (2, 0))):
            dtypes = [np.dtype(role.dtype) for role in roles if _is_free(role)]
            most = min((np.iinfo(dtype).max for dtype in dtypes if dtype.kind in "iu"), default=2)
            for limit, least in product([*sorted(sizes, reverse=True), 2], (0, 1)):
                if most >= limit > least and self._takes_extremes(case(limit, least), limited(limit, least)):
                    if (least, limit) == (1, 2):  # 1 alone: or both signs
                        yield tuple(replace(role, structure="signs") if role.is_integer else role for role in roles)
                    yield limited(limit, least)
                    return
        if any(role.structure == "offsets" for role in roles):
            return
        for offsets in self.with_offsets(roles, assignment):
            yield from self._with_limits(offsets, assignment, attrs)
        if any(role.dtype in _PLACES for role in roles):  # places that must not repeat
            yield tuple(replace(role, is_order=True) if role.dtype in _PLACES else role for role in roles)

    def with_offsets(self, roles: Sequence[Role], assignment: Assignment) -> Iterator[tuple[Role, ...]]:
        """Yield the roles with a vector of whole numbers that rise from 0 to the length of an axis of another input."""
        for place, (role, shape) in enumerate(zip(roles, assignment)):
            lengths = chain(*every_shape((*assignment[:place], *assignment[place + 1 :])))
            for axis, limit in enumerate(lengths if role.dtype in _PLACES and len(shape or ()) == 1 else ()):
                rising = replace(role, structure="offsets", limit=limit, least=axis)
                for one in (rising, replace(rising, is_order=True)):  # parts may be empty, or not
                    yield (*roles[:place], one, *roles[place + 1 :])

    def _takes_extremes(self, case: Case, roles: Sequence[Role]) -> bool:
        """Return whether forward takes the least and the greatest of the whole numbers, and notices one beyond."""

        def with_one(value: Callable[[Role], int]) -> Attempt:
            """Try the case with one element of each array of whole numbers changed, of each another one."""
            inputs = dict(case.inputs)
            for number, (name, role) in enumerate(zip(inputs, roles)):
                array = inputs[name]
                if _is_free(role) and isinstance(array, np.ndarray) and array.size and role.dtype != "bool":
                    inputs[name] = array = array.copy()
                    array.flat[number % array.size] = value(role)
            return self.trial.attempt(replace(case, inputs=inputs))

        if not with_one(lambda role: role.least).is_accepted:
            return False
        greatest = with_one(lambda role: role.limit - 1)
        if not greatest.is_accepted or not self.trial.attempt(case).is_accepted:
            return False
        # Places beyond an array may be taken in silence: for the last one, or for none.
        is_least = all(role.limit <= 2 for role in roles if _is_free(role))
        return is_least or not greatest.gives_the_same(with_one(lambda role: role.limit))


def _begins(role: Role) -> tuple[int, ...]:
    """Return the axis of which whole numbers begin the parts, () for others."""
    return (role.least,) if role.structure == "offsets" else ()


def _is_free(role: Role) -> bool:
    """Return whether the limit of an input of whole numbers is open."""
    return role.is_integer and role.structure != "offsets"


def _ascending(roles: Sequence[Role]) -> Iterator[tuple[Role, ...]]:
    """Yield the roles with one input of any floats in ascending order, as thresholds, knots and times are."""
    for place, role in enumerate(roles):
        if role == Role():
            yield (*roles[:place], Role(structure="ascending"), *roles[place + 1 :])


def is_alike(assignment: Assignment) -> bool:
    """Return whether all inputs that are there have one shape."""
    return len({shape for shape in assignment if shape is not None}) <= 1
