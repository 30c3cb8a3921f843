"""Fatal: which calls are not made again after one of them ended its process.

A declared case costs itself, and its shapes once another of them was fatal; what the search found costs its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.numbers import largest
from opkit.checker.model.report import FatalCall
from opkit.checker.model.thresholds import EXTREME_SIZE
from opkit.checker.search.kinds import includes, kind_of, setting_of, shapes_of


class FatalCallError(Exception):
    """Raised in place of a call like one that ended its process; its text is how that ended."""


def refusing(fatal: Sequence[FatalCall], is_declared: bool) -> Callable[[Mapping[str, Any], Any], None]:
    """Return a function of inputs and options that raises where they are like those of a fatal call.

    Args:
        fatal: the calls.
        is_declared: whether cases or a run say which inputs are meant.

    Returns:
        the function; it raises FatalCallError.
    """

    def refuse(inputs: Mapping[str, Any], attrs: Any) -> None:
        case = Case(inputs, attrs)
        alike = [call for call in fatal if _is_like(call.case, case, is_declared)]
        if len(alike) > is_declared or any(case.is_empty or _is_same(case, call.case) for call in alike):
            raise FatalCallError(alike[0].finding.message)

    return refuse


def _is_like(fatal: Case, case: Case, is_declared: bool) -> bool:
    """Return whether both have no elements, or extreme values, or the same shapes; if found, a kind of shapes."""
    for is_so in (lambda one: one.is_empty, is_huge):
        if is_so(fatal) or is_so(case):
            return is_so(fatal) and is_so(case)
    has_shapes = case.shapes == fatal.shapes if is_declared else includes(kind_of(fatal), shapes_of(case))
    return has_shapes and setting_of(fatal) == setting_of(case)


def is_huge(case: Case) -> bool:
    """Return whether a case has values that are extremes, which nothing declares."""
    return max(map(largest, case.floats), default=0.0) > EXTREME_SIZE


def _is_same(case: Case, other: Case) -> bool:
    pairs = zip(case.arrays, other.arrays)
    return all(np.array_equal(one, another, equal_nan=one.dtype.kind in "fc") for one, another in pairs)
