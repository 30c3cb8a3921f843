"""Scan: many points of an elementwise op at once, so that faults in narrow regions are found.

It reports no failure: where backward looks wrong, it adds a case with those points, which the other checks judge.
"""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.ladder import derivative
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen, leaves_of
from opkit.checker.model.numbers import widened
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import (
    BOUNDS,
    FEW,
    MANY,
    PLENTY,
    PROMISE,
    SCAN_NATURAL,
    SLOW_SCAN,
    UNDERFLOW,
    WEIGHT,
)
from opkit.checker.model.types import ArrayMap


def scan(session: CheckSession, domain: str) -> None:
    """Scan a dense grid of an elementwise op and add the points where backward looks off to the session's cases.

    Args:
        session: its cases show which shapes and attributes the op takes.
        domain: a key of ``values.DOMAINS``.
    """
    if session.dtype != "float64" or session.is_impure or session.is_slow:
        return
    alike = [ev for ev in session.ordinary() if ev.leaves and _is_alike(ev)]
    settings = alike[:1] + [ev for ev in alike if not ev.is_set_like(alike[0])][:1]
    for number, ev in enumerate(settings):
        for leaf in ev.leaves[:FEW]:
            line = _ScanLine(ev, leaf, _points(domain), session.rng(6000 + number))
            found = line.suspects(session)
            if line.is_slow:
                session.notes.append(f"{leaf} was not scanned: forward takes long on {line.points.size} elements")
            if found is not None:
                session.cases.append(found.case)
                session.evaluators.append(found)


def _is_alike(ev: Evaluator) -> bool:
    """Return whether all inputs are float64 arrays of the one output's shape; several of one element may be numbers."""
    arrays = ev.case.arrays
    if len(ev.slots) != 1 or len(ev.outputs) != 1 or not arrays or not 1 <= ev.outputs[0].ndim <= 3:
        return False
    if len(arrays) > 1 and arrays[0].size == 1:
        return False
    return all(array.shape == ev.outputs[0].shape and array.dtype == np.float64 for array in arrays)


def _points(domain: str) -> ndarray:
    logs = np.logspace(-4, 3, 600)
    line = np.linspace(-20.0, 20.0, 5000) + 1.7e-4
    if domain == "unit":
        return np.concatenate([np.linspace(0.0005, 0.9995, 4000), np.logspace(-5, -2, 500)])
    if domain == "symmetric":
        return np.linspace(-0.9995, 0.9995, 4001)
    if domain == "above one":
        return np.concatenate([1.0 + logs, np.linspace(1.001, 20, 4000)])
    positive = np.concatenate([line[line > 0], logs])
    if domain == "real":
        return np.concatenate([line, logs, -logs])
    return positive if domain == "positive" else -positive


class _ScanLine:
    """One input of an op at many points, the others at values that a known case has."""

    def __init__(self, ev: Evaluator, leaf: InputLeaf, points: ndarray, rng: Generator) -> None:
        self.ev, self.leaf = ev, leaf
        self.points = rng.permutation(points)
        self.lead = (1,) * (ev.outputs[0].ndim - 1)
        self.is_slow = False
        self.others = {
            one: rng.choice(array.reshape(-1), points.size) for one, array in leaves_of(ev.inputs) if one != leaf
        }

    def inputs(self, values: ndarray, where: Any = None) -> dict[str, Any]:
        where = slice(values.size) if where is None else where
        shape = (*self.lead, values.size)
        made = self.ev.replaced(self.leaf, frozen(values.reshape(shape)))
        for one, others in self.others.items():
            made = self.ev.replaced(one, frozen(others[where].reshape(shape)), made)
        return made

    def forward(self, values: ndarray) -> ndarray:
        return np.asarray(self.ev.reference(self.inputs(values))[0], dtype=np.float64).reshape(-1)

    def suspects(self, session: CheckSession) -> Evaluator | None:
        """Return a prepared case of the points where backward looks off, None where there are none."""
        points = self.points
        try:
            if not _is_elementwise(self.forward, points[:PLENTY]):
                return None
            start = process_time()
            self.forward(points)
            self.is_slow = process_time() - start > SLOW_SCAN
            if self.is_slow or not _is_elementwise(self.forward, points):
                return None
            douts = [np.full((*self.lead, points.size), WEIGHT)]
            gradient = self.ev.gradients(douts, inputs=self.inputs(points))[self.leaf]
            claimed = widened(gradient).reshape(-1) / WEIGHT
            excess = _excess(claimed, derivative(self.forward, points), self.forward(points) / points)
        except Exception:  # user code; it does not take that many elements: the other cases are those it does take
            return None
        chosen = np.argsort(-excess, kind="stable")[:MANY]
        chosen = chosen[excess[chosen] > 1.0]
        if not chosen.size:
            return None
        case = replace(self.ev.case, inputs=self.inputs(points[chosen], chosen), regime="scan")
        if not session.trial.attempt(case).is_accepted:
            return None
        made = Evaluator(self.ev.checkable, case).prepare()
        made.typical, made.usual = self.ev.typical, self.ev.usual
        return made


def _excess(claimed: ndarray, estimate: Estimate, natural: ndarray) -> ndarray:
    """Return how many times each deviation exceeds what the bound allows, 0 where nothing can be said."""
    value, bound, kind = estimate.value[0], estimate.bound[0], estimate.kind[0]
    slack = BOUNDS * bound + PROMISE * (np.abs(value) + np.abs(claimed)) + SCAN_NATURAL * np.abs(natural) + UNDERFLOW
    excess: ndarray = np.abs(claimed - value) / slack
    excess[np.isnan(excess)] = np.inf
    excess[(kind > Behaviour.ONE_SIDED) | ~np.isfinite(value) | ~np.isfinite(bound)] = 0.0
    return excess


def _is_elementwise(forward: ArrayMap, points: ndarray) -> bool:
    """Return whether each result depends on the element at its own place alone."""
    base = forward(points)
    moved = points.copy()
    moved[::2] = points[::-1][::2]
    again = forward(moved)
    if base.shape != points.shape or again.shape != points.shape:
        return False
    is_apart = bool(np.array_equal(base[1::2], again[1::2], equal_nan=True))
    return is_apart and not bool(np.array_equal(base, again))
