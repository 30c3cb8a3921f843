"""Cone tips: gradients that are not finite at the tip of a cone that the search came upon (GC105, decision 0010).

A norm without care for zero gives 0/0 at a slice of zeros. Whether such points are meant nobody has said where neither
a definition nor cases nor a run names them: that is undecided. At the edge of a kink one element alone brings it about,
as in x / |x|; that is a failure, and stays one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TypeAlias

from opkit.checker.checks.entries import undecided
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.jacobian import Comparison
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.tips import is_tip
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.record import mutable

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
