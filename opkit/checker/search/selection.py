"""Selection: which of the cases found carry a sweep, since all of them would take too long.

Chooses by ranks and sizes; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import FEW, MANY, SMALL_ARRAY


def thinned(cases: Sequence[Case], share: float) -> list[Case]:
    """Return a share of the cases, evenly of all, which are sorted by kind; the first among them."""
    count = min(max(FEW, round(share * len(cases))), len(cases))
    return [cases[place * len(cases) // count] for place in range(count)]


def one_per_rank(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield the first case without empty arrays for each combination of ranks, three at most, with sizes above 1."""
    seen: set[tuple[int, ...]] = set()
    for case in cases:
        if not case.is_empty and max(case.sizes, default=0) > 1 and case.ranks not in seen and len(seen) < FEW:
            seen.add(case.ranks)
            yield case


def diverse(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield small non-empty cases: one per combination of ranks, then those whose inputs differ most in size."""
    small = [case for case in cases if 0 < max(case.sizes, default=0) <= SMALL_ARRAY]
    seen: set[tuple[int, ...]] = set()
    later = []
    for case in small:
        if case.ranks in seen:
            later.append(case)
        else:
            seen.add(case.ranks)
            yield case
    later.sort(key=lambda case: min(case.sizes) - max(case.sizes))
    yield from islice(later, MANY)
