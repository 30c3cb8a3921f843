"""Guarded: derivatives that are wrong only where a guard makes forward flat (decision 0011).

``log(clip(p, 1e-7, 1 - 1e-7))`` is flat outside, and a backward that has the logarithm's derivative there as well is
wrong by the letter. Whether such points are meant nobody has said where neither a definition nor cases nor a run names
them: that is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opkit.checker.checks.entries import undecided
from opkit.checker.derivative.guards import explained
from opkit.checker.derivative.jacobian import Comparison
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession


@dataclass(slots=True)
class Guarded:
    """What was found where guards act."""

    _first: tuple[Evaluator, Comparison, EntryFailure] | None = None

    def sift(
        self, session: CheckSession, ev: Evaluator, outcome: Comparison, failures: list[EntryFailure]
    ) -> list[EntryFailure]:
        """Return the failures of a case without those that a guard explains where nothing says that it is meant.

        What is not finite stays a failure: a guard is there to prevent it.
        """
        bare = session.trial.bare(ev.case.attrs) if failures and ev.case.origin == "search" else None
        if bare is None:
            return failures
        found = explained(ev, bare, [one for one in failures if np.isfinite(one.actual)])
        if found and self._first is None:
            self._first = (ev, outcome, max(found, key=lambda one: one.excess))
        return [one for one in failures if one not in found]

    def result(self, session: CheckSession) -> CheckResult | None:
        """Return what was found as one undecided result, None where there was nothing."""
        if self._first is None:
            return None
        ev, outcome, failure = self._first
        why = (
            "A guard of forward, a bound next to 0 or 1, explains it, and nothing says whether such "
            "points are meant: let backward leave them out as forward does, or say in a cases function what the inputs "
            "hold"
        )
        return undecided(session, ev, failure, outcome, "GC101", why)
