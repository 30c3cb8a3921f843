"""Guards: what is wrong only behind a guard of forward, such as ``clip(p, 1e-7, 1 - 1e-7)`` (decision 0012).

A guard is seen in what forward does. That nothing else is wrong is found by the check of gradients on values
that lie on its right side.

Edges: where, along a line of values, backward begins to be wrong, and whether a guard of forward lies there.

Asks forward and backward at points only, so that it is the same for numpy, torch, JAX and compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.excuses.compare_again import again, brought, holds, said_of, telling, within_time
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import (
    EDGE_NEAR,
    EDGE_STEPS,
    FEW,
    GOLDEN,
    MAGNITUDES,
    NONZERO,
    ORDINARY,
    ORDINARY_MOST,
    REPEAT_ULPS,
    SMALL,
    STEEP,
    UNDERFLOW,
)
from opkit.record import record

Line = Callable[[float], dict[str, Any]]


@record
class Region:
    """Values of one input on the right side of a guard: between two bounds and not next to 0.

    Args:
        name: of the input.
        low, high: the bounds.
        near: the distance from 0.
    """

    name: str
    low: float = -inf
    high: float = inf
    near: float = 0.0

    def __str__(self) -> str:
        parts = [f"above {self.low:.10g}"] if self.low > -inf else []
        parts += [f"below {self.high:.10g}"] if self.high < inf else []
        parts += [f"more than {self.near:.3g} away from 0"] if self.near else []
        return f"{self.name} lies {' and '.join(parts)}"

    def within(self, other: Region) -> Region:
        """Return what two regions of an input have in common."""
        return Region(self.name, max(self.low, other.low), min(self.high, other.high), max(self.near, other.near))

    def bring(self, array: ndarray) -> ndarray:
        """Replace what lies outside by ordinary values inside, no two of which are equal."""
        low, high = self.low, self.high
        if self.near:
            low = max(low, self.near)
        low = low if low > -inf else min(high, 1.0) - 1.0
        high = high if high < inf else low + 1.0
        shares = 0.5 * (0.5 + np.modf((1 + np.arange(array.size)) * GOLDEN)[0].reshape(array.shape))
        is_outside = (array <= self.low) | (array >= self.high) | (np.abs(array) <= self.near)
        return np.where(is_outside, low + (high - low) * shares, array)


@record
class Point:
    """A wrong element of a gradient, whose case may be changed.

    Args:
        evaluator: the prepared case.
        leaf: the input.
        element: flat index of the element.
        weights: of the outputs' elements concerned.
    """

    evaluator: Evaluator
    leaf: InputLeaf
    element: int
    weights: ndarray

    def value(self, inputs: dict[str, Any]) -> float:
        """Return what the weighted outputs come to."""
        return float(self.weights @ np.where(self.weights != 0, self.evaluator.value_at(inputs), 0.0))

    def claimed(self, inputs: dict[str, Any]) -> float:
        """Return the slope that backward claims; NaN where it raises."""
        ev = self.evaluator
        try:
            found = ev.gradients(ev.douts_from(self.weights), inputs=inputs)[self.leaf]
        except Exception:  # user code
            found = None
        return float("nan") if found is None or not found.size else float(found.reshape(-1)[self.element])

    def slopes(self, inputs: dict[str, Any]) -> Iterator[float]:
        """Yield difference quotients of steps from coarse to fine; of 0 by steps that no bound is finer than."""
        array = inputs[self.leaf.name] if self.leaf.index is None else inputs[self.leaf.name][self.leaf.index]
        own = abs(float(array.reshape(-1)[self.element]))
        for share in EDGE_STEPS:
            step = (share * own if own else share**4) or NONZERO
            ends = (
                self.evaluator.replaced(self.leaf, self._set(array, move, own=1.0), inputs) for move in (step, -step)
            )
            yield (self.value(next(ends)) - self.value(next(ends))) / (2 * step)

    def is_right(self, inputs: dict[str, Any]) -> bool:
        """Return whether some difference quotient agrees with what backward claims."""
        claimed = self.claimed(inputs)
        return any(abs(slope - claimed) <= SMALL * abs(claimed) for slope in self.slopes(inputs))

    def alone(self, u: float) -> dict[str, Any]:
        """Return the inputs with another value of the element."""
        return self.evaluator.replaced(self.leaf, self._set(self.evaluator.array(self.leaf), u))

    def all_of(self, leaf: InputLeaf) -> Line:
        """Return the line along which all elements of an input are about equal, and one is what is asked for."""
        array = self.evaluator.array(leaf)
        pattern = np.linspace(*MAGNITUDES, array.size)
        if self.element < array.size:
            pattern[self.element] = 1.0
        return lambda u: self.evaluator.replaced(leaf, frozen((u * pattern).reshape(array.shape).astype(array.dtype)))

    def starts(self) -> Iterator[tuple[InputLeaf, float]]:
        """Yield each input that may be guarded as a whole, and its value where the gradient is wrong."""
        for leaf in (self.leaf, *(one for one in self.evaluator.leaves if one != self.leaf)):
            flat = self.evaluator.array(leaf).reshape(-1)
            if flat.size and leaf.index is None:
                is_alike = flat.size == self.evaluator.array(self.leaf).size
                yield leaf, float(flat[self.element if is_alike else int(np.abs(flat).argmin())])

    def right(self, line: Line) -> float | None:
        """Return an ordinary value at which backward is right and not 0, as it is beyond another bound."""
        return next((u for u in ORDINARY if self.is_right(line(u)) and self.claimed(line(u))), None)

    def noise(self, base: float) -> float:
        """Return the change of a value from which on a slope can be measured."""
        eps = float(np.finfo(self.evaluator.array(self.leaf).dtype).eps)
        return REPEAT_ULPS * eps * abs(base) / SMALL + UNDERFLOW

    def _set(self, array: ndarray, value: float, own: float = 0.0) -> ndarray:
        moved = np.array(array)
        flat = moved.reshape(-1)
        flat[self.element] = value + own * flat[self.element]
        return frozen(moved)


def points_of(session: CheckSession, item: CheckResult) -> Iterator[Point]:
    """Yield the point of a failure; the extreme elements of each input where it names none."""
    shown = item.evidence
    if shown is None or shown.case is None:
        return
    ev = Evaluator(session.checkable, shown.case).prepare()
    entries = [ev.locate(entry) for entry in range(ev.entries)]
    weights = np.linspace(*MAGNITUDES, len(entries))
    if shown.output_element is not None:
        place = shown.output_element
        weights = np.array([float(at == place and session.output_name(slot) == item.output) for slot, at in entries])
    for leaf in ev.leaves:
        array = ev.array(leaf)
        if shown.element is not None and item.input == str(leaf):
            yield Point(ev, leaf, int(np.arange(array.size).reshape(array.shape)[shown.element]), weights)
        elif shown.element is None and array.size:
            for element in (array.argmax(), array.argmin(), np.abs(array).argmin()):
                yield Point(ev, leaf, int(element), weights)


def region_of(point: Point) -> Region | None:
    """Return the values on the right side of the guard that a wrong point lies behind, None where there is none."""
    start = float(point.evaluator.array(point.leaf).reshape(-1)[point.element])
    is_part = point.leaf.index is not None  # of a list, which no region is said of
    target = None if is_part else point.right(point.alone)
    edge = None if target is None else _flat_edge(point, start, target)
    if target is not None and edge is not None:
        return _beside(str(point.leaf), start, edge, target)
    for leaf, start in point.starts():
        line = point.all_of(leaf)
        target = point.right(line)
        edge = None if target is None or point.is_right(line(start)) else _steep_edge(point, line, start, target)
        if target is not None and edge is not None:
            return _beside(str(leaf), start, edge, target)
    return None


def _beside(name: str, start: float, edge: float, target: float) -> Region:
    """Return the region on the right side of an edge; where the wrong side is next to 0, both sides of it are right."""
    if abs(start) <= abs(edge) <= EDGE_NEAR and start * edge >= 0:
        return Region(name, near=2 * abs(edge))
    return Region(name, low=edge) if target > edge else Region(name, high=edge)


def _flat_edge(point: Point, start: float, target: float) -> float | None:
    """Return where forward ceases to be flat, None where it is not flat at the start, or no guard makes it so."""
    base = point.value(point.alone(start))
    edge, beyond = _bisected(start, target, lambda u: point.value(point.alone(u)) == base)
    if abs(edge - start) <= REPEAT_ULPS * abs(np.spacing(start)):
        return None
    noise, slope = point.noise(base), 0.0
    for reach in (target - edge) * 2.0 ** -np.arange(1, np.finfo(float).nmant):
        change = abs(point.value(point.alone(edge + reach)) - base)
        slope = change / abs(reach) if change > noise else slope  # the finest that can be measured
    ordinary = abs(point.claimed(point.alone(target)))
    blur = point.noise(edge) + noise / max(slope, NONZERO) + 2 * abs(beyond - edge)
    if STEEP * slope < ordinary or abs(edge) <= blur:  # it bends away smoothly, or at 0, as ReLU does
        return None
    is_beside = blur < min(abs(edge), abs(1 - abs(edge))) <= EDGE_NEAR
    return edge if is_beside or abs(edge) > ORDINARY_MOST or slope >= STEEP * ordinary else None


def _steep_edge(point: Point, line: Line, start: float, target: float) -> float | None:
    """Return where backward begins to be wrong next to 0, None where forward is neither flat nor steep there."""
    edge, _ = _bisected(start, target, lambda u: not point.is_right(line(u)))
    ordinary = abs(point.claimed(line(target)))
    beside = max(abs(point.claimed(line(2 * edge))), NONZERO)
    if not point.noise(point.value(line(edge))) / (EDGE_STEPS[0] * beside) < abs(edge) <= EDGE_NEAR:
        return None  # at 0, as far as the steps can tell
    for u in (edge, start):  # what underflows is flat at 0 alone, and no guard
        inside = [abs(slope) for slope in point.slopes(line(u))]
        if any(inside) and max(inside) < STEEP * ordinary:
            return None
    return edge


def _bisected(start: float, target: float, is_wrong: Callable[[float], bool]) -> tuple[float, float]:
    """Return the last value that is wrong and the next one: neighbours among floats, however near to 0 or 1."""
    low, high = _rank(start), _rank(target)
    while abs(high - low) > 1:
        middle = (low + high) // 2
        if is_wrong(_ranked(middle)):
            low = middle
        else:
            high = middle
    return _ranked(low), _ranked(high)


def _rank(value: float) -> int:
    """Return the place of a number among all floats, in their order."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0 else bits


def _ranked(rank: int) -> float:
    size = float(np.int64(abs(rank)).view(np.float64))
    return -size if rank < 0 else size


def guarded(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse failures behind a guard, where all is right before it.

    Each round finds the guard that one failure lies behind: a probability has two.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    cases, regions = telling(session, failed), dict[str, Region]()
    wrong = list(failed.values())
    for _ in range(FEW):
        found = _found(session, wrong)
        if found is None:
            return {}
        regions[found.name] = found.within(regions.get(found.name, found))
        cases = [brought(case, found.name, regions[found.name].bring) for case in cases]
        results = again(session, session.checkable, cases, failed)
        wrong = [item for item in results if item.status is Status.FAIL]
        if holds(results):
            why = (
                f"a guard of forward explains it, for it holds where {' and '.join(map(str, regions.values()))}, and "
                "nothing says whether other values are meant: let backward leave them out as forward does, or say "
                "what inputs hold with `def cases(rng)`"
            )
            return said_of(failed, results, why)
    return {}


def _found(session: CheckSession, wrong: Iterable[CheckResult]) -> Region | None:
    for item in list(wrong)[:FEW]:
        for point in points_of(session, item) if item.code != "GC105" else ():
            within_time(session)
            region = region_of(point)
            if region is not None:
                return region
    return None
