"""Options of a check: how much is tried and what counts.

Plain settings only; where they come from (flags, files) is the caller's business.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from numbers import Integral
from typing import Any

from opkit.checker.model.thresholds import (
    FULL_LIMIT,
    MOST_CASES,
    MOST_GIVEN_AXES,
    MOST_GIVEN_ELEMENTS,
    PROBES,
    PROMISE,
    SECONDS,
    SLOW_CALL,
)
from opkit.checker.model.types import Attrs
from opkit.errors import UsageError
from opkit.ir import Shape
from opkit.record import record


@record
class Options:
    """Settings of one run of the checker.

    Args:
        seed: all random choices follow from it.
        strict: undecided counts as failed (for the caller's exit status; the checker itself reports the same).
        select: codes to run; empty means all.
        ignore: codes to leave out.
        promise: relative error that a float64 PASS promises to have seen.
        full_limit: a Jacobian with at most that many entries is checked entry by entry.
        probes: random directions for larger ones.
        max_cases: at most that many user cases are drawn.
        effort: scales how many cases a search finds: 0.02 a few of them, 10 ten rounds of values; 1.0 is meant for
            under a second per op.
        seconds: stop adding cases after that many seconds, times an effort above 1 (what is left out is reported).
        clock: seconds of the clock after which no further case is begun; those of --timeout leave time for the last.
        shapes: {input name: shape} given by hand, instead of searching.
        attrs: attribute values given by hand.
        second_order: also check the gradient of the gradient where it is offered.
        demand_second: a wrong gradient of the gradient fails, whether the op promises one or not.
        recorded_only: check an op that a run was seen to call on what was seen alone.
        reference: a function, or "module:function", with which results and gradients are compared.
        power: mutate the user's backward and say which mutants these settings catch.

    Raises:
        UsageError: the effort is no number that can be meant, or an array of a shape cannot exist.
    """

    seed: int = 0
    strict: bool = False
    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    promise: float = PROMISE
    full_limit: int = FULL_LIMIT
    probes: int = PROBES
    max_cases: int = MOST_CASES
    effort: float = 1.0
    seconds: float = SECONDS
    clock: float = math.inf
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    attrs: Attrs = field(default_factory=dict)
    second_order: bool = True
    demand_second: bool = False
    recorded_only: bool = False
    reference: Any = None
    power: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise UsageError(f"seed must be 0 or more, got {self.seed!r}")
        if not 0 <= self.effort < math.inf:
            raise UsageError(f"effort must be a finite number and not negative, got {self.effort}")
        for name, shape in self.shapes.items():
            if len(shape) > MOST_GIVEN_AXES or math.prod(shape) > MOST_GIVEN_ELEMENTS:
                raise UsageError(
                    f"the shape given for {name!r} is beyond what an array can have: at most {MOST_GIVEN_AXES} axes "
                    f"and {MOST_GIVEN_ELEMENTS:,} elements"
                )

    @property
    def slow_call(self) -> float:
        """Seconds of a call from which on all calls of a check would not end in the time."""
        return SLOW_CALL * min(self.seconds / SECONDS, 1.0)

    def wants(self, code: str) -> bool:
        """Return whether a check is to run."""
        return code not in self.ignore and (not self.select or code in self.select)
