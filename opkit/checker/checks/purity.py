"""Purity: same arguments, same results; nothing written, nothing kept (GC120-GC125).

Runs the op in different orders and compares bits; it never asks whether a result is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.checks.contract import is_write
from opkit.checker.model.agreement import same
from opkit.checker.model.error_location import is_users
from opkit.checker.model.evaluate import Evaluator, copies, is_float, leaves_of, snapshot
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession, Findings
from opkit.checker.model.thresholds import (
    BACKWARD_PURITY_CASES,
    PURITY_CASES,
    REPEATS,
)

_OTHERWISE = "forward gave another result for the same arguments"


def _others(session: CheckSession, ev: Evaluator) -> list[Evaluator]:
    """Cases to run in between: other values of the same shapes, other shapes, another dtype."""

    def holds_the_same(item: Evaluator) -> bool:
        return all(map(np.array_equal, item.case.arrays, ev.case.arrays))

    alike = [item for item in session.evaluators if item is not ev and item.shapes == ev.shapes]
    other_values = [item for item in alike if item.is_set_like(ev) and not holds_the_same(item)]
    other_attrs = [item for item in alike if not item.is_set_like(ev)]
    differing = [item for item in session.evaluators if item.shapes != ev.shapes]
    single = session.single[:1]
    return _rearranged(ev, differing[:1]) + other_values[:2] + other_attrs[:2] + differing[:2] + single


def _rearranged(ev: Evaluator, before: list[Evaluator]) -> list[Evaluator]:
    """The case with its floats in reverse: a key made from sums, norms or sizes cannot distinguish the two.

    Integers stay: they may be offsets or labels, which have an order. It is run after others, so that what is
    remembered of the case itself is gone where only the last is kept.
    """
    try:
        for other in before:
            other.forward(other.inputs)
        return [Evaluator(ev.checkable, replace(ev.case, inputs=ev.map_inputs(_reversed))).prepare()]
    except Exception:  # user code: the order matters to the domain
        return []


def _reversed(array: ndarray) -> ndarray:
    """Return a copy, of floats in reverse."""
    return np.array(array.reshape(-1)[::-1].reshape(array.shape) if is_float(array) else array)


def forward_purity(session: CheckSession) -> Iterator[CheckResult]:
    """GC120, GC122, GC124, GC125 for forward."""
    found = Findings(session, {item.code: item for item in session.breaches("GC122")})
    evaluators = session.diverse(PURITY_CASES) + session.large
    for ev in [] if found.results else evaluators:
        for code, message in islice(_forward_faults(session, ev), 1):
            found.add(code, message, ev)
    settings: dict[str, Evaluator] = {}
    for ev in [] if found.results else session.ordinary():
        settings.setdefault(str(sorted(ev.attrs.items())), ev)
    for ev in settings.values():
        if not same(ev.outputs, snapshot(ev.forward(ev.inputs))):
            found.add("GC120", _OTHERWISE, ev)
    yield from found.told(("GC120", "GC122"), len(evaluators))
    session.is_impure |= bool(found.results)


def _forward_faults(session: CheckSession, ev: Evaluator) -> Iterator[tuple[str, str]]:
    """Yield what is wrong; after the first, what follows says little."""
    first = ev.forward(ev.inputs)
    kept = snapshot(first)
    if session.drawing.touched_by(lambda: ev.forward(ev.inputs)):
        yield "GC120", "forward draws from, or seeds, numpy's global random numbers"
    if not all(same(kept, snapshot(ev.forward(ev.inputs))) for _ in range(REPEATS)):
        yield "GC120", _OTHERWISE
    changed = "GC124", "a later call of forward changed an array that an earlier call had returned"
    if not same(kept, snapshot(first), 0.0):
        yield changed
    for other in _others(session, ev):
        others = snapshot(other.forward(other.inputs))
        if not same(kept, snapshot(first), 0.0):
            yield changed
        if not same(kept, snapshot(ev.forward(ev.inputs))) or not same(other.outputs, others):
            yield "GC125", "forward gave another result after a call with other arguments"


def backward_purity(session: CheckSession) -> Iterator[CheckResult]:
    """GC121, GC123, GC124, GC125 for backward."""
    found = Findings(session, {item.code: item for item in session.breaches("GC123")})
    evaluators = [ev for ev in session.diverse(BACKWARD_PURITY_CASES) + session.large if ev.leaves and ev.slots]
    alone: dict[Evaluator, bool] = {}
    where = session.checkable.backward_where
    for number, ev in enumerate([] if found.results else evaluators):
        rng = session.rng(500 + number)
        try:
            faults = list(islice(_backward_faults(session, ev, rng, alone), 1))
        except Exception as error:  # only one order of calls may make user code raise
            if not is_users(error):
                raise
            faults = []
            if is_write(error):
                faults = [("GC123", f"backward wrote to a read-only argument: {error}")]
            elif _runs_alone(ev, rng):
                faults = [("GC125", f"backward raised after another call: {type(error).__name__}: {error}")]
        for code, message in faults:
            found.add(code, message, ev, where=where)
    yield from found.told(("GC121", "GC123", "GC124", "GC125"), len(evaluators))
    session.is_impure |= bool(found.results)


def _runs_alone(ev: Evaluator, rng: Generator) -> bool:
    try:
        ev.gradients(ev.drawn(rng, 1))
    except Exception:  # then the order is not the cause
        return False
    return True


def _backward_faults(
    session: CheckSession, ev: Evaluator, rng: Generator, alone: dict[Evaluator, bool]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong; after the first, what follows says little."""
    douts, others = (ev.drawn(rng, 2) for _ in range(2))
    outputs, pullback = ev.run()
    kept_outputs = snapshot(outputs)
    raw = list(ev.gradients(douts, pullback).values())
    kept = copies(raw)
    if session.drawing.touched_by(lambda: ev.gradients(douts)):
        yield "GC121", "backward draws from, or seeds, numpy's global random numbers"
    if not same(kept_outputs, snapshot(outputs), 0.0):
        yield "GC123", "backward wrote to forward's result"
    if not all(same(kept, ev.pulled(douts)) for _ in range(REPEATS)):
        yield "GC121", "backward gave another result for the same arguments"
    if session.checkable.vjp is not None and not _repeats(ev, douts):
        yield (
            "GC121",
            "a second backward of the same forward gave another result than the first: it changes what was saved",
        )
    ev.gradients(others)
    if not same(kept, raw, 0.0):
        yield "GC124", "a later call of backward changed a gradient that an earlier call had returned"
    for other in _others(session, ev):  # another forward, and another backward, between a forward and its backward
        if other not in alone:
            alone[other] = _runs_alone(other, session.rng(0))
        if not alone[other]:
            continue
        _, pullback = ev.run()
        _, other_pullback = other.run()
        if not same(kept, ev.pulled(douts, pullback)):
            yield "GC125", "backward gave another result after forward had been called with other arguments in between"
        if other.leaves and other.slots:
            other.gradients(other.uneven(), other_pullback)
        if not same(kept, ev.pulled(douts)):
            yield "GC125", "backward gave another result after calls with other arguments"
    if not same(kept, _refilled(ev, douts) or kept):
        yield "GC125", "backward gave another result for arguments in memory that held others before"


def _refilled(ev: Evaluator, douts: list[ndarray]) -> list[ndarray | None]:
    """Return gradients after the arguments' memory held them in reverse, [] where the op does not take them so."""
    inputs = ev.map_inputs(_reversed)
    try:
        ev.gradients(douts, inputs=inputs)
    except Exception:  # user code: the order matters to the domain
        return []
    for (_, array), (_, own) in zip(leaves_of(inputs), leaves_of(ev.inputs)):
        array[...] = own
    return ev.pulled(douts, inputs=inputs)


def _repeats(ev: Evaluator, douts: list[ndarray]) -> bool:
    """Return whether backward, called twice after one forward, gives the same; it may refuse a second call."""
    _, pullback = ev.run()
    first = ev.pulled(douts, pullback)
    try:
        return same(first, ev.pulled(douts, pullback))
    except Exception:  # user code: what was saved is gone, as it is without retain_graph
        return True
