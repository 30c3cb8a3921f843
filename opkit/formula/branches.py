"""How far the inputs of a formula have to reach, so that both sides of each of its branches are among them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from opkit.errors import UsageError
from opkit.formula.domain import Region
from opkit.formula.exact import exact_values
from opkit.formula.graph import Formula, expressions
from opkit.formula.language import Expr, absolute, clip, maximum, minimum, sign
from opkit.ir import Shape

#: What normal numbers are multiplied with, the least that is enough.
_REACHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: The share of elements that each side of a branch is to have: among a dozen there is one then.
_SHARE = 0.2


def reaching(
    formula: Formula,
    sizes: Mapping[str, Shape],
    attrs: Mapping[str, Any],
    regions: Mapping[str, Region],
    is_taken: Callable[[Mapping[str, Region]], bool],
) -> dict[str, Region]:
    """Return the regions, those of any number as wide as the branches of the formula ask for.

    Args:
        formula: as it was written.
        sizes: {input: shape}.
        attrs: {attribute: default}.
        regions: {input: its region}.
        is_taken: whether the kernels give finite numbers in regions.
    """
    sides = list(dict.fromkeys(side for expr in expressions(formula) for side in _sides(expr)))
    best, most = dict(regions), 0.0
    if not sides:
        return best
    asked = copy.copy(formula)
    asked.outputs = {f"side {number}": side for number, side in enumerate(sides)}
    for reach in _REACHES:
        wide = {
            name: replace(region, reach=reach) if region.low is None else region for name, region in regions.items()
        }
        rng = np.random.default_rng(0)
        drawn = {name: region.plain(rng, sizes[name]) for name, region in wide.items()}
        try:
            found = exact_values(asked, {**drawn, **attrs})
        except (UsageError, ArithmeticError, ValueError):  # no real number there
            break
        reached = sum(min(_SHARE, float(np.mean(side > 0)), float(np.mean(side < 0))) for side in found.values())
        if reached > most and (reach == 1 or is_taken(wide)):
            best, most = wide, reached
    return best


def _sides(expr: Expr) -> Iterator[Expr]:
    """Yield what is above 0 on one side of a branch, and below it on the other."""
    for part in sympy.preorder_traversal(expr):
        match part:
            case sympy.core.relational.Relational():
                yield part.lhs - part.rhs
            case maximum() | minimum():
                yield part.args[0] - part.args[1]
            case clip():
                yield from (part.args[0] - bound for bound in part.args[1:])
            case absolute() | sign():
                yield part.args[0]
