"""Purity: same arguments, same results; nothing written, nothing kept (GC120-GC125).

Runs the op in different orders and compares bits; it never asks whether a result is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.agreement import same
from opkit.checker.model.case import first_of_each
from opkit.checker.model.evaluate import Evaluator, copies, is_float, leaves_of
from opkit.checker.model.raised import is_users, is_write, words_of
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession, Findings
from opkit.checker.model.thresholds import FEW, MANY, REPEATS, SOME


def _most(session: CheckSession, ev: Evaluator, usual: int = MANY) -> int:
    """Return how often a case is run for one matter: what is not a matter of its size shows on small ones as well."""
    return 2 if ev in session.large else usual


def _others(session: CheckSession, ev: Evaluator) -> list[Evaluator]:
    """Cases to run in between: other values of the same shapes, other shapes, another dtype."""
    alike: list[Evaluator] = []
    differing: list[Evaluator] = []
    shapes = ev.case.shapes
    for item in session.evaluators:
        if item is not ev:
            (alike if item.case.shapes == shapes else differing).append(item)
    set_like = [item for item in alike if item.is_set_like(ev)]
    other_values = [item for item in set_like if not all(map(np.array_equal, item.case.arrays, ev.case.arrays))]
    other_attrs = [item for item in alike if not item.is_set_like(ev)]
    single = session.single[:1]
    found = _rearranged(ev, differing[:1]) + other_values[:2] + other_attrs[:2] + differing[:2] + single
    return found[: _most(session, ev)]


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


#: When a result was another one.
_AFTER = "after a call with other arguments"
_BETWEEN = "after forward had been called with other arguments in between"
_IN_USED_MEMORY = "for arguments in memory that held others before"


def _faults(
    session: CheckSession,
    ev: Evaluator,
    who: str,
    call: Callable[[], Sequence[Any]],
    others: Iterable[Callable[[], str]],
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a call that is repeated, and made again after others.

    After the first, what follows says little.

    Args:
        session: of the checks.
        ev: the case.
        who: what is called.
        call: gives what it returned.
        others: make other calls, and say when a result was another one, "" where none was.
    """
    repeated, result = ("GC120", "an array") if who == "forward" else ("GC121", "a gradient")
    first = call()
    kept = copies(first)
    if session.drawing.touched_by(call):
        yield repeated, f"{who} draws from, or seeds, numpy's global random numbers"
    if not all(same(kept, call()) for _ in range(_most(session, ev, REPEATS))):
        yield repeated, f"{who} gave another result for the same arguments"
    for other in others:
        when = other()
        if not same(kept, first, 0.0):
            yield "GC124", f"a later call of {who} changed {result} that an earlier call had returned"
        if when or not same(kept, call()):
            yield "GC125", f"{who} gave another result {when or _AFTER}"


def forward_purity(session: CheckSession) -> Iterator[CheckResult]:
    """GC120, GC122, GC124, GC125 for forward."""
    found = Findings(session, {item.code: item for item in session.breaches("GC122")})
    evaluators = session.diverse(FEW) + session.large

    def gives_the_same(ev: Evaluator) -> bool:
        return same(ev.outputs, ev.forward(ev.inputs))

    def after(ev: Evaluator) -> str:
        return "" if gives_the_same(ev) else _AFTER

    for ev in [] if found.results else evaluators:
        others = (partial(after, other) for other in _others(session, ev))
        for code, message in islice(_faults(session, ev, "forward", partial(ev.forward, ev.inputs), others), 1):
            found.add(code, message, ev)
    for ev in [] if found.results else first_of_each(session.ordinary(), lambda ev: str(sorted(ev.attrs.items())))[0]:
        if not gives_the_same(ev):
            found.add("GC120", "forward gave another result for the same arguments", ev)
    yield from found.told(("GC120", "GC122"), len(evaluators))
    session.is_impure |= bool(found.results)


def backward_purity(session: CheckSession) -> Iterator[CheckResult]:
    """GC121, GC123, GC124, GC125 for backward."""
    found = Findings(session, {item.code: item for item in session.breaches("GC123")})
    evaluators = [ev for ev in session.diverse(SOME) + session.large if ev.leaves and ev.slots]
    where = session.checkable.backward_where
    for number, ev in enumerate([] if found.results else evaluators):
        try:
            faults = list(islice(_backward_faults(session, ev, session.rng(500 + number)), 1))
        except Exception as error:  # only one order of calls may make user code raise
            if not is_users(error):
                raise
            faults = []
            if is_write(error):
                faults = [("GC123", f"backward wrote to a read-only argument: {error}")]
            elif _runs_alone(ev):
                faults = [("GC125", f"backward raised after another call: {words_of(error)}")]
        for code, message in faults:
            found.add(code, message, ev, where=where)
    yield from found.told(("GC121", "GC123", "GC124", "GC125"), len(evaluators))
    session.is_impure |= bool(found.results)


def _runs_alone(ev: Evaluator) -> bool:
    try:
        ev.gradients(ev.uneven())
    except Exception:  # then the order is not the cause
        return False
    return True


def _backward_faults(session: CheckSession, ev: Evaluator, rng: Generator) -> Iterator[tuple[str, str]]:
    """Yield what is wrong; after the first, what follows says little."""
    douts, others = (ev.drawn(rng, 2) for _ in range(2))
    kept = ev.pulled(douts)

    def between(other: Evaluator) -> str:
        """Run another forward between a forward and its backward, and its backward after that."""
        (_, pullback), (_, other_pullback) = ev.run(), other.run()
        is_kept = same(kept, ev.pulled(douts, pullback))
        if other.leaves and other.slots:
            other.gradients(other.uneven(), other_pullback)
        return "" if is_kept else _BETWEEN

    def in_used_memory() -> str:
        """Let the arguments' memory hold them in reverse before; the op need not take them so."""
        inputs = ev.map_inputs(_reversed)
        try:
            ev.gradients(douts, inputs=inputs)
        except Exception:  # user code: the order matters to the domain
            return ""
        for (_, array), (_, own) in zip(leaves_of(inputs), leaves_of(ev.inputs)):
            array[...] = own
        return "" if same(kept, ev.pulled(douts, inputs=inputs)) else _IN_USED_MEMORY

    if session.checkable.vjp is not None and not _repeats(ev, douts):
        yield (
            "GC121",
            "a second backward of the same forward gave another result than the first: it changes what was saved",
        )

    def with_others() -> str:
        ev.gradients(others)
        return ""

    calls = [partial(between, other) for other in _others(session, ev) if _runs_alone(other)]
    yield from _faults(
        session, ev, "backward", lambda: list(ev.gradients(douts).values()), (with_others, *calls, in_used_memory)
    )


def _repeats(ev: Evaluator, douts: list[ndarray]) -> bool:
    """Return whether backward, called twice after one forward, gives the same; it may refuse a second call."""
    _, pullback = ev.run()
    first = ev.pulled(douts, pullback)
    try:
        return same(first, ev.pulled(douts, pullback))
    except Exception:  # user code: what was saved is gone, as it is without retain_graph
        return True
