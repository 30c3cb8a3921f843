"""Roles: what inputs may hold, by the values that forward takes; which hold whole numbers is found by climbing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

import numpy as np

from opkit.checker.model.thresholds import FEW, MIXED_DOMAINS, MIXED_INPUTS, PLENTY
from opkit.checker.model.trial import Answer, Attempt
from opkit.checker.search.extents import every_shape
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.values import DOMAINS
from opkit.ir import TensorDesc
from opkit.record import mutable

_PLACES = ("int64", "int32")


@mutable
class Roles:
    """Proposes roles for inputs of given shapes.

    Args:
        scope: of the search.
        is_plain: whether floats alone are proposed.
    """

    scope: SearchScope
    is_plain: bool = False

    def candidates(self, assignment: Assignment, attrs: Mapping[str, Any]) -> Iterator[tuple[Role, ...]]:
        """Yield what the inputs may be filled with: what worked before, then other domains, then integers."""
        count = len(self.scope.args)
        known = self.scope.roles
        dtypes = [role.dtype or own for role, own in zip(self.scope.held, self.scope.floats)]
        if self.scope.trial.reach(self.descs(assignment, dtypes), attrs) < float("inf"):
            self.scope.trial.counts[Answer.REFUSED] += 1
            return
        if known is not None:
            if all(role.is_fixed or not role.is_integer for role in known):
                yield known
            else:
                yield from self._with_domains(known, assignment, attrs)
            return
        yield (Role(),) * count
        if self.is_plain:
            return
        said = self.scope.trial.said
        is_told = not said  # where nothing raised, other values may be what is wanted
        others = [Role(name) for name in DOMAINS if name != "real"]
        if any(shape and len(shape) > 1 and shape[-1] == shape[-2] for shape in assignment):
            others.insert(0, Role(structure="definite"))
        for number, role in enumerate(others):
            yield (role,) * count
            is_told |= self.scope.trial.said != said
            if len(others) - number == FEW and not is_told:  # it is not about the values
                return
        if 1 < count <= MIXED_INPUTS:
            mixed = product(list(DOMAINS)[:MIXED_DOMAINS], repeat=count)
            yield from (tuple(map(Role, chosen)) for chosen in mixed if len({*chosen}) > 1)

    def descs(self, assignment: Assignment, dtypes: Sequence[str]) -> dict[str, list[TensorDesc]]:
        """Describe inputs of these shapes and dtypes."""
        parts = zip(self.scope.args, assignment, dtypes)
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
                if self.scope.trial.said and self.scope.trial.said in said:
                    return  # it is not about the values
                said.add(self.scope.trial.said)

    def _with_limits(
        self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]
    ) -> Iterator[tuple[Role, ...]]:
        """Yield the roles with the largest limit that forward takes for the integers of these shapes.

        Where it takes none of the least numbers, all alike or not, larger ones are not tried.
        """

        def limited(limit: int, least: int) -> tuple[Role, ...]:
            return tuple(replace(role, limit=limit, least=least) if role.is_integer else role for role in roles)

        def is_taken(tried: Sequence[Role]) -> bool:
            return self.scope.trial.attempt(self.scope.case(assignment, attrs, tried)).is_accepted

        sizes = {*chain(*every_shape(assignment))}
        sizes |= {value for value in attrs.values() if type(value) is int and 0 < value <= PLENTY}
        sizes |= {value for value in self.scope.checkable.constants if type(value) is int and 1 < value <= PLENTY}
        if any(is_taken(limited(*few)) for few in ((1, 0), (2, 1), (2, 0))):
            for limit, least in product([*sorted(sizes, reverse=True), 2], (0, 1)):
                if limit > least and self._takes_extremes(limited(limit, least), assignment, attrs):
                    yield limited(limit, least)
                    return
        if any(role.dtype in _PLACES for role in roles):  # places that must not repeat
            yield tuple(replace(role, is_order=True) if role.dtype in _PLACES else role for role in roles)

    def _takes_extremes(self, roles: Sequence[Role], assignment: Assignment, attrs: Mapping[str, Any]) -> bool:
        case = self.scope.case(assignment, attrs, roles)

        def with_one(value: Callable[[Role], int]) -> Attempt:
            """Try the case with one element of each array of whole numbers changed, of each another one."""
            inputs = dict(case.inputs)
            for number, (arg, role) in enumerate(zip(self.scope.args, roles)):
                array = inputs[arg.name]
                if role.is_integer and isinstance(array, np.ndarray) and array.size and role.dtype != "bool":
                    inputs[arg.name] = array = array.copy()
                    array.flat[number % array.size] = value(role)
            return self.scope.trial.attempt(replace(case, inputs=inputs))

        if not with_one(lambda role: role.least).is_accepted:
            return False
        greatest = with_one(lambda role: role.limit - 1)
        if not greatest.is_accepted or not self.scope.trial.attempt(case).is_accepted:
            return False
        # Places beyond an array may be taken in silence: for the last one, or for none.
        is_least = all(role.limit <= 2 for role in roles if role.is_integer)
        return is_least or not greatest.gives_the_same(with_one(lambda role: role.limit))
