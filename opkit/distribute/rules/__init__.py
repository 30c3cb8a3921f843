"""Rules: the ways in which built-in ops may run over devices, by op type.

A way may stand here only if it holds for all inputs; ``tests/distribute/test_rules.py`` tries each on the op's cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from opkit.distribute.rules import arrange, network, pointwise, products, reduce, update
from opkit.distribute.way import Facts, Way, Ways
from opkit.ops import OpDef

__all__ = ["RULES", "Rule", "ways_of"]

Rule: TypeAlias = Callable[[Facts], Ways]

RULES: Mapping[str, Rule] = MappingProxyType(
    {**pointwise.RULES, **arrange.RULES, **reduce.RULES, **products.RULES, **network.RULES, **update.RULES}
)


def ways_of(opdef: OpDef, facts: Facts) -> list[Way]:
    """Return the ways in which a built-in op may run over devices, those that fit its shapes."""
    found: list[Way] = []
    if opdef.is_elementwise:
        found += pointwise.elementwise(facts)
    rule = RULES.get(opdef.name)
    if rule is not None:
        found += rule(facts)
    return [way for way in dict.fromkeys(found) if way.fits(facts)]
