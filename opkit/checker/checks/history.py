"""History: an op that has run many times gives what the same op gives in a new process (GC125).

Compares the op with itself, its user code loaded again; other checks decide which results are correct.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from opkit.checker.model.agreement import same
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator, snapshot
from opkit.checker.model.numbers import widened
from opkit.checker.model.raised import words_of
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import SOME


def history(session: CheckSession) -> Iterator[CheckResult]:
    """GC125: forward and backward as first calls after loading, against the calls that came after many others."""
    afresh = session.checkable.afresh
    if afresh is None or session.is_impure:
        return
    for number, ev in enumerate(session.diverse(SOME, 1)):
        message = _difference(ev, afresh(), session.rng(800 + number))
        if message:
            session.is_impure = True
            yield session.failed("GC125", message, ev)
            return


def _difference(ev: Evaluator, new: Checkable, rng: Generator) -> str:
    """Say in what the first calls after loading differ from later ones, "" where they do not."""
    douts = ev.drawn(rng, 2)

    def results(op: Checkable) -> Iterator[list[Any]]:
        outputs, pullback = op.run(ev.inputs, ev.attrs)
        yield snapshot(outputs)
        yield ev.pulled(douts, pullback) if ev.leaves and ev.entries else []

    try:
        used = list(results(ev.checkable))
    except Exception:  # user code; the contract check reports it
        return ""
    first = results(new)
    for who, later in zip(("forward", "backward"), used):
        try:
            found = next(first)
        except Exception as error:  # user code; it ran without complaint before
            return f"{who} raises on its first call after loading: {words_of(error)}"
        if not same(later, found):
            return f"{who} gives another result on its first call after loading: {_how(later, found)}"
    return ""


def _how(later: list[Any], first: list[Any]) -> str:
    """Show the entry that differs most."""
    for one, other in zip(first, later):
        if one is None or other is None or np.shape(one) != np.shape(other) or not np.size(one):
            continue
        distance = np.abs(widened(one) - widened(other)).ravel()
        if np.any(distance != 0):
            place = int(np.argmax(np.nan_to_num(distance, nan=np.inf)))
            return f"{np.ravel(one)[place]:.9g} at first, {np.ravel(other)[place]:.9g} later"
    return "of another kind"
