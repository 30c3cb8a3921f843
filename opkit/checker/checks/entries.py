"""Entries: a wrong entry of a Jacobian as a result: its words, its place, and the arrays that show it.

Describes only; which entries are wrong is decided in judge, and what they count as in gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker.derivative.columns import Columns
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.jacobian import Comparison
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.ladder import steps_for
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.numbers import median, place_of, resolution_of
from opkit.checker.model.pattern import ALONG, EXACTLY, FLAT, FORWARD_ROUNDED, ROUNDED, ZERO, guess_pattern
from opkit.checker.model.report import CheckResult, Evidence, Slopes, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import LITTLE, MOST_ELEMENTS, STEPS
from opkit.ir import Shape


def described(
    session: CheckSession,
    ev: Evaluator,
    failure: EntryFailure,
    outcome: Comparison,
    code: str,
) -> CheckResult:
    """Return a wrong entry of a case's Jacobian as a failure."""
    checkable, array = session.checkable, ev.array(failure.leaf)
    claimed, numeric = outcome.analytic[failure.leaf], outcome.numeric[failure.leaf]
    mine = np.repeat(ev.slots, ev.sizes) == ev.locate(failure.entry)[0]
    others = {str(leaf): item[mine] for leaf, item in outcome.numeric.items() if leaf != failure.leaf}
    pattern = guess_pattern(claimed[mine], numeric[mine], array, str(failure.leaf), others)
    if ALONG in pattern:
        failure = _on_diagonal(ev, failure, outcome)
    slot, element = ev.locate(failure.entry)
    place, output = place_of(failure.element, array.shape), session.output_name(slot)
    what = f"d {output}{index_of(element)} / d {failure.leaf}{index_of(place)}"
    actual, expected = failure.actual + 0.0, failure.expected + 0.0  # -0 is shown as 0
    wanted: Any = expected
    bound: float | None = failure.bound
    if failure.kind >= Behaviour.KINK and failure.low < failure.high:
        wanted = [failure.low, failure.high]
        text = f"{what} is {actual:.9g}; any value in [{failure.low:.9g}, {failure.high:.9g}] is valid"
    elif failure.code == "GC106":
        text = f"along directions that keep the ties, {output} changes by {expected:.9g}, not {actual:.9g}"
        if failure.ties:
            alike = f"{failure.leaf}{index_of(place)} and what is equal to it ({failure.ties} elements)"
            changes = f"change {output}{index_of(element)} by {expected:.9g} a unit"
            text = f"moved together, {alike} {changes}; backward gives {actual:.9g}"
    else:
        text = f"{what} is {actual:.12g}, numerically {expected:.12g} +- {failure.bound:.1e}"
        endless = _endless(_slopes(ev, failure)) if failure.bound > LITTLE * abs(expected) else ""
        if endless:
            text, wanted, bound = f"{what} is {actual:.12g}; {endless}", "a slope without bound", None
    where = pattern.partition(f"{EXACTLY} ")[2]
    is_lost = failure.code == "GC152" and ROUNDED in pattern  # where terms cancel, any share of the digits may go
    # At ties the elements have no slopes of their own; at kinks alone, zeros are no missing gradient.
    is_told = np.isfinite(failure.actual) and not is_lost and failure.code != "GC106"
    is_told = is_told and (pattern != ZERO or failure.kind is not Behaviour.KINK)
    pattern = pattern if is_told else ""
    if pattern == "transposed" and checkable.unlike:  # complex numbers are pairs here
        pattern = "as where a conjugate is missing, or transposed"
    if pattern:
        text += f"; looks {pattern}" if not pattern.startswith(("the", "takes")) else f"; {pattern}"
    errors = np.where(outcome.agreed[failure.leaf], 0.0, np.abs(claimed - numeric)).T
    slopes = _slopes(ev, failure) if failure.code == "GC103" else None
    hint = _unmeant(where, failure.leaf.name) if session.is_found(ev.case) else ""
    hint = checkable.if_zero if pattern == ZERO and not claimed.any() else hint
    if _is_without_gradient(ev, outcome, slot):
        key = checkable.key("NONDIFFERENTIABLE_OUTPUTS")
        hint = f'backward gives no gradient of {output} at all: where that is meant, declare {key} = ("{output}",), '
        hint += "or, where forward has a ctx, call its mark_non_differentiable"
    if pattern == FLAT and checkable.surrogate is not None:
        hint = "SURROGATE's function is compared by its values: what keeps a gradient from parts of it has no effect"
    evidence = Evidence(ev.case, (), place, element, errors if errors.size <= MOST_ELEMENTS else None, slopes, pattern)
    return session.failed(
        code,
        text,
        ev,
        input=str(failure.leaf),
        output=output,
        expected=wanted,
        actual=actual,
        bound=bound,
        evidence=evidence,
        where=checkable.forward_where if FORWARD_ROUNDED in pattern else checkable.backward_where,
        hint=hint,
    )


def _on_diagonal(ev: Evaluator, failure: EntryFailure, outcome: Comparison) -> EntryFailure:
    """Return a wrong entry like another, of an element on the diagonal, or that one where there is none."""
    shape, slot = ev.array(failure.leaf).shape, ev.locate(failure.entry)[0]
    alike = (one for one in outcome.failures if (one.leaf, one.code) == (failure.leaf, failure.code))
    mine = (one for one in alike if ev.locate(one.entry)[0] == slot)
    places = ((one, place_of(one.element, shape)) for one in mine)
    return next((one for one, place in places if place[-1] == place[-2]), failure)


def _is_without_gradient(ev: Evaluator, outcome: Comparison, slot: int) -> bool:
    """Return whether backward uses what comes in for other results and not for this one."""
    mine = np.repeat(ev.slots, ev.sizes) == slot
    claimed = np.concatenate(list(outcome.analytic.values()), axis=1)
    return not claimed[mine].any() and bool(claimed[~mine].any())


def _unmeant(where: str, name: str) -> str:
    """Return what helps where a function is wrong for values of an input that nobody may have meant; "" elsewhere."""
    if not where:
        return ""
    said = f"if {where} is not meant, raise in forward there, or declare the values that are"
    return f"{said}: --write-cases writes cases, in which {name} can be drawn from those alone"


def undecided(
    session: CheckSession, ev: Evaluator, failure: EntryFailure, outcome: Comparison, why: str
) -> CheckResult:
    """Return a wrong entry of which nothing says whether its point is meant, with the words that say so."""
    made = described(session, ev, failure, outcome, failure.code)
    return replace(made, status=Status.UNDECIDED, message=f"{made.message}. {why}", beyond=True)


def _slopes(ev: Evaluator, failure: EntryFailure) -> Slopes:
    """Return the one-sided difference quotients at a kink, for a plot."""
    columns = Columns(ev, failure.leaf)
    elements = np.array([failure.element])
    steps = steps_for(columns.scales[elements], STEPS, resolution_of(columns.array))
    plus, minus, up, down = columns.ladder(elements, steps)
    base = columns.base[failure.entry]
    right = (plus[0, :, failure.entry] - base) / up[0, :, 0]
    left = (base - minus[0, :, failure.entry]) / down[0, :, 0]
    return Slopes(steps[0], left, right, failure.actual, failure.element)


def _endless(slopes: Slopes) -> str:
    """Say to which side difference quotients grow without bound as the step shrinks, "" where to none."""
    for side, values in (("above", slopes.right), ("below", slopes.left)):
        growth = np.diff(values) * np.sign(values[-1])
        first, last = np.array_split(growth, 2)
        if (growth > 0).all() and 2 * median(last) > median(first):  # those of a finite slope come to an end
            shown = (
                f"{values[-2]:.3g} over a step of {slopes.steps[-2]:.0e}, {values[-1]:.3g} over {slopes.steps[-1]:.0e}"
            )
            return f"numerically the slope from {side} grows without bound: {shown}"
    return ""


def index_of(place: Shape) -> str:
    """Return a place in an array as one writes it."""
    return f"[{', '.join(map(str, place))}]" if place else ""
