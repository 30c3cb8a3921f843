"""Modes: other ways to run the op give the same; the gradient as an op of its own (GC170, GC171).

Runs what the Checkable offers; it knows no mode by name.

History: an op that has run many times gives what the same op gives in a new process (GC125).

Compares the op with itself, its user code loaded again; other checks decide which results are correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from opkit.checker.model.agreement import same
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator, snapshot
from opkit.checker.model.numbers import widened
from opkit.checker.model.raised import words_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import Check, CheckSession
from opkit.checker.model.thresholds import SOME, SUM_ULPS


def parity(session: CheckSession) -> Iterator[CheckResult]:
    """GC170: every other runner gives the same results and gradients."""
    runners = session.checkable.runners
    if not runners:
        yield session.skipped("GC170", "there is only one way to run it")
        return
    evaluators = session.diverse(SOME)
    for name, run in runners.items():
        for number, ev in enumerate(evaluators):
            message = _differs(ev, name, run, session.rng(6000 + number))
            if message:
                yield session.failed("GC170", message, ev)
                return
    yield session.passed("GC170", len(evaluators))


def _differs(ev: Evaluator, name: str, run: Callable[..., tuple[Any, Any]], rng: Generator) -> str:
    douts = ev.drawn(rng, 1)
    expected = ev.pulled(douts) if ev.leaves and ev.slots else []
    try:
        outputs, gradients = run(ev.inputs, ev.attrs, douts)
    except Exception as error:  # the other runner's own trouble is the finding
        return f"{name} mode raised {words_of(error)}"
    if not same(ev.outputs, list(outputs)):
        return f"{name} mode gives other results"
    if expected and not same(expected, list(ev.by_leaf(gradients).values()), SUM_ULPS):
        return f"{name} mode gives other gradients"
    return ""


#: What gradients of the gradient that are zero come of.
_SAVED = "save inputs rather than what forward computed, or mark backward once_differentiable"


def second_order(session: CheckSession, check: Check) -> Iterator[CheckResult]:
    """GC171: the gradient, taken as an op, has a correct gradient."""
    second = session.checkable.second
    if second is None or not session.options.second_order:
        yield session.skipped("GC171", "no gradient of the gradient is offered, or none is asked for (--second-order)")
        return
    is_asked = session.asks_second
    if not is_asked and session.left() < 0:
        yield session.skipped("GC171", "nothing asks for a second order, and the time is over")
        return
    seconds = session.options.seconds if is_asked else session.left()
    codes = frozenset({"GC101", "GC102", "GC103", "GC104", "GC105", "GC181", "GC182"})
    if session.checkable.directory is None:  # of a definition, a kernel of its own gives it
        second = replace(second, if_zero=_SAVED)
    report = check(second, replace(session.rest(), select=codes, power=False, seconds=seconds))
    bad = [item for item in report.checks if item.is_finding]
    if not is_asked and report.status is not Status.PASS:
        yield _noted(session, bad)
        return
    for item in bad:
        yield replace(item, check="second_order", code="GC171", message=f"second order: {item.message}")
    if report.status is Status.SKIP:
        yield session.skipped("GC171", "there is nothing to differentiate a second time")
    elif not bad:
        undecided = any(item.status is Status.UNDECIDED for item in report.checks)
        yield session.result("GC171", Status.UNDECIDED if undecided else Status.PASS)


def _noted(session: CheckSession, bad: list[CheckResult]) -> CheckResult:
    """Return the skip of a second order that nothing asks for, with a note where it is wrong."""
    if not bad or session.is_wrong:
        said = "the first is wrong" if bad else "it could not be decided"
        return session.skipped("GC171", f"nothing asks for a second order, and {said}")
    text = f"a second derivative would be wrong (nothing asks for one): {bad[0].message}"
    session.notes.append(f"{text}; {_SAVED}")
    return session.skipped("GC171", text)


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
