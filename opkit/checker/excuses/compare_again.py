"""Comparing again: the gradient on other values, or through a map that brings an input into a class of them.

Runs the check of gradients and no other; what follows from its results is decided by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.checks.gradient import gradients
from opkit.checker.checks.precision import single_precision
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable, Forward
from opkit.checker.model.evaluate import frozen
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import MANY
from opkit.checker.model.types import ArrayMap, Arrays, Attrs, Gradients, Ran, Results


class OutOfTimeError(Exception):
    """Time ended before it was known whether a rule excuses a failure."""


Bring = ArrayMap
Pull = Callable[[ndarray, ndarray], ndarray]


def again(
    session: CheckSession, checkable: Checkable, cases: Sequence[Case], failed: Mapping[int, CheckResult]
) -> list[CheckResult]:
    """Return what the check of gradients says of an op and cases, [] where there are none or forward refuses them.

    Args:
        session: of the check.
        checkable: the op.
        cases: the most telling first: it is tried alone before the others.
        failed: what is to be excused; where float32 is, it is compared as well.

    Raises:
        OutOfTimeError: no time is left.
    """
    found: list[CheckResult] = []
    is_single = any(item.code == "GC150" for item in failed.values())
    for part in (cases[:1], cases) if cases else ():
        within_time(session)
        other = replace(session, checkable=checkable, cases=list(part), notes=[], evaluators=[], large=[], single=[])
        try:
            other.prepare()
        except Exception:  # user code: what a rule brings about need not be taken
            return []
        if not all(np.isfinite(ev.outputs[index]).all() for ev in other.evaluators for index in ev.slots):
            return []  # these values lie outside the domain
        found = [*gradients(other), *(single_precision(other) if is_single else ())]
        if any(item.status is Status.FAIL for item in found):
            break
    return found


def within_time(session: CheckSession) -> None:
    """Go on while time is left: the clock's, of which the checks before leave a part.

    Raises:
        OutOfTimeError: none is left.
    """
    if session.clock() <= 0:
        raise OutOfTimeError


def holds(results: Sequence[CheckResult]) -> bool:
    """Return whether a derivative was compared and none is wrong."""
    bad = any(item.is_finding and item.code != "GC150" for item in results)
    return not bad and any(item.status is Status.PASS and item.code in ("GC101", "GC102") for item in results)


def said_of(failed: Mapping[int, CheckResult], results: Sequence[CheckResult], why: str) -> dict[int, str]:
    """Return a sentence for each of the failures that are gone."""
    still = {item.code for item in results if item.status is Status.FAIL}
    return {index: why for index, item in failed.items() if item.code not in still}


def meant(where: str) -> str:
    """Return the sentence on what holds for some values, or for some shapes, alone."""
    said = "if that is meant, raise in forward elsewhere, or say so with `def cases(rng)`, which yields such inputs"
    return f"it holds {where}: {said}"


def telling(session: CheckSession, failed: Mapping[int, CheckResult]) -> list[Case]:
    """Return the cases that failed, and the most various of the others."""
    cases = [*shown(failed), *(ev.case for ev in session.diverse(MANY))]
    return list({id(case): case for case in cases}.values())


def shown(failed: Mapping[int, CheckResult]) -> list[Case]:
    """Return the cases on which failures are shown."""
    cases = (item.evidence.case for item in failed.values() if item.evidence is not None)
    return [case for case in cases if case is not None]


def brought(case: Case, name: str, bring: Bring) -> Case:
    """Return a case with one input brought into a class of values."""
    return replace(case, inputs=_brought(case.inputs, name, bring))


def through(checkable: Checkable, name: str, bring: Bring, pull: Pull) -> Checkable:
    """Return an op that brings one input into a class first: its gradient is the one along the class.

    Args:
        checkable: the op.
        name: the input.
        bring: the map.
        pull: the adjoint of its derivative, ``(the input before, a gradient after)``.
    """

    def moved(function: Forward) -> Forward:
        return lambda arrays, attrs: function(_brought(arrays, name, bring), attrs)

    def vjp(arrays: Arrays, attrs: Attrs) -> Ran:
        outputs, pullback = checkable.run(_brought(arrays, name, bring), attrs)

        def back(douts: Results, needs: frozenset[str]) -> Gradients:
            found = dict(pullback(douts, needs))
            before, after = arrays[name], found.get(name)
            if isinstance(before, ndarray) and isinstance(after, ndarray) and after.shape == before.shape:
                found[name] = pull(before, after)
            return found

        return outputs, back

    surrogate = None if checkable.surrogate is None else moved(checkable.surrogate)
    made = replace(checkable, forward=moved(checkable.forward), vjp=vjp, surrogate=surrogate)
    return replace(made, backward=None, trace=None)


def _brought(inputs: Mapping[str, Any], name: str, bring: Bring) -> dict[str, Any]:
    value = inputs[name]
    if not isinstance(value, ndarray) or not value.size:
        return dict(inputs)
    return {**inputs, name: frozen(bring(value).astype(value.dtype))}
