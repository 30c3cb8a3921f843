"""Remainders: sizes that forward divides by a number, where backward is right only for its multiples.

A half that is turned, gated or pooled is cut at ``size // 2``: numpy takes odd sizes too, which nobody may have meant.
What fails at multiples is not judged here: it is an ordinary fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import KIND_CASES
from opkit.checker.search.extents import arrays_of, ranks_of, resized, shapes_of, sizes_of
from opkit.checker.search.kinds import is_plain
from opkit.checker.search.look import has_slope
from opkit.checker.search.meant import Doubt
from opkit.checker.search.scope import SearchScope


@dataclass(frozen=True, slots=True)
class Remainder:
    """Sizes of one axis of the first array that are no multiples of what forward divides by.

    Args:
        divisor: what forward divides by.
        axis: counted from the end, -1 or less.
        example: a case whose gradient is wrong there.
    """

    divisor: int
    axis: int
    example: Case

    def has(self, case: Case) -> bool:
        """Say whether a case's size leaves a remainder."""
        size = _size(case, self.axis)
        return size is not None and bool(size % self.divisor)

    def doubt(self) -> Doubt:
        """Return what to say of the cases that are set aside."""
        size = _size(self.example, self.axis)
        message = f"the gradient is wrong: forward divides a size by {self.divisor}, and {size} leaves a remainder"
        return Doubt(self.example, "GC101", message)


def remainder_of(scope: SearchScope, cases: Iterable[Case]) -> Remainder | None:
    """Return the sizes at which backward is wrong although it is right at multiples, None where there are none.

    Args:
        scope: of the search.
        cases: of usual values, in which forward takes various sizes.
    """
    plain = [case for case in cases if is_plain(case) and all(sizes_of(case)) and case.regime == "normal"]
    for divisor in sorted(scope.speech.divisors):
        for axis in range(-1, -1 - max((rank for case in plain for rank in ranks_of(case)[:1]), default=0), -1):
            found = _found(scope, plain, divisor, axis)
            if found is not None:
                return found
    return None


def _found(scope: SearchScope, cases: Sequence[Case], divisor: int, axis: int) -> Remainder | None:
    parted: tuple[list[Case], list[Case]] = [], []
    for case in cases:
        size = _size(case, axis)
        if size is not None:
            parted[bool(size % divisor)].append(case)
    whole, broken = parted
    wrong = next((case for case in _various(broken) if not has_slope(scope, case)), None)
    if wrong is None:
        return None
    whole = [*_various(whole), *_made_whole(scope, wrong, divisor, axis)]
    is_right = bool(whole) and all(has_slope(scope, case) for case in whole)
    return Remainder(divisor, axis, wrong) if is_right else None


def _various(cases: Sequence[Case]) -> list[Case]:
    """Return some cases, each of other shapes."""
    return list({shapes_of(case): case for case in reversed(cases)}.values())[::-1][:KIND_CASES]


def _made_whole(scope: SearchScope, case: Case, divisor: int, axis: int) -> Iterator[Case]:
    """Yield a case with a size made a multiple, wherever it stands, if forward takes that."""
    size = _size(case, axis)
    if size is None or scope.roles is None:
        return
    made = scope.case(resized(shapes_of(case), size, 2 * divisor * size), case.attrs, scope.roles, seed=case.seed)
    if scope.trial.probe(made).is_accepted:
        yield made


def _size(case: Case, axis: int) -> int | None:
    """Return the size of an axis of the first array, None where it has none such."""
    shape = next((array.shape for array in arrays_of(case)), ())
    return shape[axis] if -axis <= len(shape) else None
