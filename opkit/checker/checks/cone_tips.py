"""Cone tips: gradients that are not finite at the tip of a cone that the search came upon (GC105, decision 0010).

A norm without care for zero gives 0/0 at a slice of zeros. Whether such points are meant nobody has said where neither
a definition nor cases nor a run names them: that is undecided. At the edge of a kink one element alone brings it about,
as in x / |x|; that is a failure, and stays one.

Tips: points at which several elements together leave no derivative, and none of them alone, like the tip of a cone.

A norm has one where a whole slice is zero. Says only whether a point is one; what follows is decided in checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from typing import TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.checks.entries import undecided
from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.jacobian import Comparison
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.ladder import Line
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import resolution_of, signed
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import FEW, RATIO, SEED, SMALL, TIP_CURVES, TIP_LEAST
from opkit.record import mutable


def is_tip(
    evaluator: Evaluator, leaf: InputLeaf, element: int, entries: Sequence[int], *, is_bent: bool = True
) -> bool:
    """Return whether a point is a tip: results have no derivative there, and no single element is to blame.

    The bend along a line through the point, f(x + hv) + f(x - hv) - 2 f(x) over h, is |n v| at an edge (a sum of such
    terms where several meet), and a curve like sqrt(v1**2 + v2**2) at a tip. With another direction added to the
    element's own, a sum of absolute values grows by a part proportional to its share, a curve by its square. Where
    values do not even meet at the point, as angles do not at 0, it is a tip as well.

    Args:
        evaluator: the prepared case.
        leaf: what is moved.
        element: where, in it.
        entries: of the vector of results; all that bend along the element have to have a tip.
        is_bent: whether they are known to bend. Where a ladder's finest steps are lost in rounding, as those of a
            distance by way of an arccosh, a kink is seen at larger ones only.
    """
    rng = np.random.default_rng(SEED)
    own = {one: np.zeros(evaluator.array(one).shape) for one in evaluator.leaves}
    own[leaf].reshape(-1)[element] = 1.0
    other = {one: signed(rng, part.shape) for one, part in own.items()}
    other[leaf].reshape(-1)[element] = 0.0
    at = leaf, element, list(entries)
    if _is_tip_beside(evaluator, at, own, other, is_bent=is_bent):
        return True
    # Among all others there may be those that bend the result for themselves: one neighbour along each axis has none.
    place = np.unravel_index(element, own[leaf].shape)
    sizes: tuple[int, ...] = own[leaf].shape if is_bent else ()
    for axis, size in enumerate(sizes):
        beside = {one: np.zeros_like(part) for one, part in own.items()}
        next_one = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
        beside[leaf][next_one] = 1.0
        if size > 1 and _is_tip_beside(evaluator, at, own, beside, is_bent=True):
            return True
    return False


def _is_tip_beside(
    evaluator: Evaluator,
    at: tuple[InputLeaf, int, list[int]],
    own: dict[InputLeaf, ndarray],
    other: dict[InputLeaf, ndarray],
    *,
    is_bent: bool,
) -> bool:
    """Return whether a point is a tip as far as one other direction beside the element's own shows."""
    leaf, element, entries = at
    array = evaluator.array(leaf)
    # The cube root balances rounding against what is smooth: the optimum of central differences.
    length = float(np.cbrt(resolution_of(array))) * float(scales_of(array)[element]) * (1 if is_bent else 1 / SMALL)

    def value(share: float, length: float) -> ndarray:
        line = Line(evaluator, {one: own[one] + share * other[one] for one in own})
        return np.array(line.at(length)[entries])

    def bend(share: float, length: float = length) -> ndarray:
        found: ndarray = value(share, length) + value(share, -length) - 2 * value(share, 0.0)
        return found

    with np.errstate(all="ignore"):
        base = value(1.0, 0.0)
        coarse, fine = (abs(value(1.0, part) - base) for part in (length, SMALL * length))
        torn = 2 * fine > coarse
        alone = bend(0.0)
        size = abs(alone)
        # A kink's bend shrinks with the step, a smooth curve's with its square.
        shrinks_slowly = TIP_CURVES * RATIO * abs(bend(0.0, length / RATIO)) > size
        bent = torn | is_bent | (shrinks_slowly & (size > TIP_LEAST * coarse))
        tips, is_open = torn, bent & ~torn
        for share in RATIO ** -np.arange(FEW):
            if not is_open.any():
                break
            wide, narrow = (bend(part) + bend(-part) - 2 * alone for part in (share, share / 2))
            is_first = is_open & (abs(wide) < size)
            tips = tips | (is_first & (narrow > TIP_LEAST * size) & (wide > TIP_CURVES * narrow))
            is_open = is_open & ~is_first
    return bool(bent.any() and tips[bent].all())


Found: TypeAlias = "tuple[Evaluator, Comparison, list[EntryFailure]]"


@mutable
class Tipped:
    """What was found at tips, and what may be one but for the smallness of the case."""

    _first: Found | None = None
    _small: list[Found] = field(default_factory=list)

    def sift(self, session: CheckSession, ev: Evaluator, outcome: Comparison) -> list[EntryFailure]:
        """Return the failures of a case without those at a tip that nothing says is meant.

        A norm of one element is its absolute value, and a deviation of two is half their distance: edges, and that of
        one is flat. What is not finite there is held back until it is known whether larger cases have tips.
        """
        failures = outcome.failures
        odd = [one for one in failures if one.code == "GC105"]
        if not odd or session.checkable.infer is not None or ev.case.origin != "search":
            return failures
        odd_at: defaultdict[tuple[InputLeaf, int], list[EntryFailure]] = defaultdict(list)
        for one in odd:
            odd_at[one.leaf, one.element].append(one)
        tips = set()
        for (leaf, element), here in odd_at.items():
            kinks = [one.entry for one in here if one.kind is Behaviour.KINK]
            if is_tip(ev, leaf, element, kinks or [one.entry for one in here], is_bent=bool(kinks)):
                tips.add((leaf, element))
        at_tips = [one for one in odd if (one.leaf, one.element) in tips]
        others = [one for one in odd if (one.leaf, one.element) not in tips]
        if at_tips and self._first is None:
            self._first = (ev, outcome, sorted(at_tips, key=lambda one: -one.kind))
        if others and any(size in (1, 2) for shape in ev.case.shapes for size in (shape or (1,))):
            self._small.append((ev, outcome, others))
            others = []
        return [*others, *(one for one in failures if one.code != "GC105")]

    def held_back(self) -> list[Found]:
        """Return what is a failure after all, since no case has a tip."""
        return [] if self._first else self._small

    def result(self, session: CheckSession) -> CheckResult | None:
        """Return what was found at tips as one undecided result, None where there was nothing."""
        if self._first is None:
            return None
        ev, outcome, (failure, *_) = self._first
        why = (
            "Forward has no derivative where several elements meet, such as a slice of zeros, and "
            "nothing says whether such points are meant: return a finite gradient there, or say so in a cases function"
        )
        return undecided(session, ev, failure, outcome, why)
