"""Other domains: values outside of the domain that all inputs were found to have, where forward takes them as well.

The first domain that forward takes is seldom the whole one: log(1 + x) takes small negative numbers besides positive
ones, and y in log(x) * y any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import FEW, MANY
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.selection import one_per_rank

#: The domains that reach beyond one that was taken; those before it, in the order of DOMAINS, were not.
_BEYOND = {"positive": ("symmetric", "negative"), "symmetric": ("negative",), "unit": ("negative",), "negative": ()}


def wider(scope: SearchScope, shapes: Sequence[Case]) -> list[Case]:
    """Return cases in which one input at a time holds values of another domain.

    Args:
        scope: of the search; its roles are settled.
        shapes: natural cases.
    """
    found: list[Case] = []
    if scope.checkable.seen or scope.roles is None or scope.options.shapes:
        return found
    carrier = next((case for case in one_per_rank(shapes) if len(case.sizes) == len(scope.args)), None)
    if carrier is None:
        return found
    for index, domain in _others(scope.roles):
        roles = [*scope.roles]
        roles[index] = Role(domain)
        drawn = _drawn(scope, carrier, roles, 7000 + 10 * index)
        found.extend(drawn[: MANY - len(found)])
    return found


def _others(roles: Sequence[Role]) -> Iterator[tuple[int, str]]:
    for index, role in enumerate(roles):
        if not role.is_bound and role.domain != "real":
            if len(roles) > 1:
                yield index, "real"
            yield from ((index, name) for name in _BEYOND.get(role.domain, ()))


def _drawn(scope: SearchScope, carrier: Case, roles: Sequence[Role], seed: int) -> list[Case]:
    """Return cases of such roles, none where forward refuses one of them: others are taken by chance."""
    shapes = shapes_of(carrier)
    cases = [scope.case(shapes, carrier.attrs, roles, label="wider", seed=seed + number) for number in range(FEW)]
    if not all(_is_taken(scope, case) for case in cases):
        return []
    wide = scope.case(shapes, carrier.attrs, roles, ["wide"] * len(roles), "wide", seed + FEW)
    return [*cases, wide] if _is_taken(scope, wide) else cases


def _is_taken(scope: SearchScope, case: Case) -> bool:
    outcome = scope.trial.attempt(case)
    return outcome.is_accepted and outcome.keeps_promise()
