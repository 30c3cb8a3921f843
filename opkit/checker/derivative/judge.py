"""Judge: full ladders for the entries of a Jacobian that did not agree at once, and a verdict for each.

An accusation needs two different ladders, a steady gradient, and no tie that explains it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import Columns, scales_of
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.joined import joined, largest_joined
from opkit.checker.derivative.resolution import misled
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.numbers import largest, resolution_of, widened
from opkit.checker.model.session import cast_case
from opkit.checker.model.thresholds import (
    ABSOLUTE,
    ABSOLUTE_SINGLE,
    BOUNDS,
    CANCELLED_ULPS,
    CORNER,
    CORNER_RUNGS,
    FEW,
    FIRST_STEP,
    FLOOR,
    FLOOR_SINGLE,
    GOLDEN,
    GRID_ULPS,
    LITTLE,
    MANY,
    NEGLIGIBLE,
    NONZERO,
    PLENTY,
    REPEAT_ULPS,
    RESOLUTION,
    ROW_MARGIN,
    SINGLE_RESOLUTION,
    SINGLE_ROUNDING,
    SLIGHT,
    SMALL,
    SMALL_ARRAY,
    SOME,
    STEPS,
    UNDERFLOW,
    UNSTEADY,
    VAGUE,
    WEIGHT,
)
from opkit.record import record


@record
class EntryFailure:
    """One entry of a Jacobian that is wrong; with ties, along the direction that moves so many equal elements."""

    code: str
    leaf: InputLeaf
    element: int
    entry: int
    expected: float
    actual: float
    bound: float
    low: float
    high: float
    kind: Behaviour
    ties: int = 0

    @classmethod
    def of(
        cls, estimate: Estimate, place: tuple[int, int], code: str, leaf: InputLeaf, element: int, actual: float
    ) -> EntryFailure:
        """Return the failure of an element whose estimate is at a place, (line, entry)."""
        parts = (estimate.value, estimate.bound, estimate.low, estimate.high)
        value, bound, low, high = (float(part[place]) for part in parts)
        kind = Behaviour(int(estimate.kind[place]))
        return cls(code, leaf, element, int(place[1]), value, actual, bound, low, high, kind)

    @property
    def is_rounding(self) -> bool:
        """Whether one rounding to float32 on the way explains it."""
        size = max(abs(self.expected), abs(self.actual))
        return abs(self.expected - self.actual) <= SINGLE_ROUNDING * size

    @property
    def excess(self) -> float:
        """How many times the deviation exceeds what is allowed (infinite where the gradient is not finite)."""
        if not np.isfinite(self.actual):
            return float("inf")
        distance = max(self.low - self.actual, self.actual - self.high, 0.0)
        return distance / max(self.bound, NONZERO)


class Judge:
    """Ladders of their own for the columns that did not agree at once.

    Args:
        claims: which elements (n, 1) backward says to change which entries (1, J).
    """

    def __init__(
        self,
        columns: Columns,
        rows: ndarray,
        claimed: ndarray,
        single: ndarray,
        open_: ndarray,
        declared: float,
        claims: ndarray,
    ) -> None:
        self.columns, self.rows, self.claimed, self.single = columns, rows, claimed, single
        self.evaluator, self.leaf, self.scales = columns.evaluator, columns.leaf, columns.scales
        columns.find_rows(ROW_MARGIN * FIRST_STEP)
        self.estimate = columns.estimate(rows, self.scales)
        case, eps = self.evaluator.case, self.evaluator.eps()
        self.elements, entries = joined(columns.links() | claims)
        usual = self.evaluator.usual if entries.any() else self.evaluator.typical
        size = np.maximum(largest_joined(columns.base, entries), usual)
        least = np.full(entries.size + 1, np.inf)
        np.minimum.at(least, self.elements, np.where(self.scales > 0, self.scales, np.inf))
        self.natural = size / least[entries]
        rounding = CANCELLED_ULPS * eps * self.natural + UNDERFLOW
        if case.origin != "recorded":  # elsewhere terms may cancel that did not where it was seen
            rounding = rounding + self.evaluator.slack() * self.natural
        # Values may lie on a grid as coarse as the resolution of the terms they are made of, however small they are.
        self.grid = GRID_ULPS * eps * size
        # Terms that cancel may be as large as the products of the other inputs (attention with weights near 1).
        terms = REPEAT_ULPS * eps * self.evaluator.others(self.leaf)
        self.absolute = (np.where(single, ABSOLUTE_SINGLE, ABSOLUTE) + declared) * largest_joined(claimed, entries)
        self.absolute = self.absolute + rounding + terms
        self.unseen = NEGLIGIBLE * self.natural
        self.tolerance = self._tolerance(self.estimate)
        self.is_corner = self.estimate.kind >= Behaviour.KINK
        self.is_undecided = self._undecided(self.estimate)
        # Of elements at which some output has no derivative and whose gradient is not finite (0 * inf).
        none = (self.estimate.kind >= Behaviour.JUMP) | ~np.isfinite(self.estimate.bound)
        is_singular = none.any(axis=1, keepdims=True) & ~np.isfinite(claimed)
        self.is_wrong = open_ & self._wrong(self.estimate) & ~is_singular
        self.cancelled = np.zeros(self.is_wrong.shape, dtype=bool)

    def _tolerance(self, estimate: Estimate, rows: ndarray | slice = slice(None)) -> ndarray:
        size = np.fmax(np.abs(self.claimed[rows]), np.abs(estimate.value))
        size = np.where(np.isfinite(size), size, np.abs(estimate.value))
        relative = np.where(self.single, FLOOR_SINGLE, FLOOR)
        corner = np.where(estimate.kind >= Behaviour.KINK, CORNER, 0.0)
        wide = np.maximum(np.abs(estimate.low), np.abs(estimate.high))
        found: ndarray = BOUNDS * estimate.bound + relative * size + self.absolute + corner * wide
        found += np.where(estimate.step > 0, self.grid / estimate.step, 0.0)
        return found

    def _undecided(self, estimate: Estimate) -> ndarray:
        nothing = ~np.isfinite(estimate.bound) | (estimate.kind >= Behaviour.SINGULAR)
        vague = estimate.bound > VAGUE * np.fmax(np.abs(estimate.value), self.absolute / NEGLIGIBLE)
        found: ndarray = nothing | (vague & (estimate.kind <= Behaviour.ONE_SIDED))
        return found

    def _wrong(self, estimate: Estimate, rows: ndarray | slice = slice(None)) -> ndarray:
        claimed = self.claimed[rows]
        tolerance = self._tolerance(estimate, rows)
        outside = (claimed < estimate.low - tolerance) | (claimed > estimate.high + tolerance)
        known = np.isfinite(estimate.bound) & (estimate.kind < Behaviour.SINGULAR)
        size = np.fmax(np.abs(estimate.value), np.abs(estimate.high))
        sharp = estimate.bound <= np.maximum(SLIGHT * size, NEGLIGIBLE)
        # Values may be flat in float64 where the formula is not, as beside a guard.
        outside &= (estimate.value != 0) | ~(np.abs(claimed) < self.unseen)
        is_smooth = estimate.kind <= Behaviour.KINK
        is_huge = NEGLIGIBLE * np.abs(claimed) > np.maximum(self.natural, size)
        outside &= is_smooth | ~is_huge  # beside a jump a huge slope is as good as none
        found: ndarray = known & (outside | (~np.isfinite(claimed) & sharp & is_smooth))
        return found

    def confirm(self) -> None:
        """Accuse only where a second, different ladder accuses as well and the gradient itself is steady."""
        if not self.is_wrong.any():
            return
        again = np.flatnonzero(self.is_wrong.any(axis=1))
        unsteady, is_lost = (self.is_wrong & found for found in self._unsteady())
        grave = self._is_well_conditioned(unsteady)
        self.cancelled = grave & is_lost
        self.is_wrong &= ~unsteady | grave
        if again.size > MANY:  # that many columns cannot all be accidents: confirm the worst ones only
            excess = np.where(self.is_wrong, np.abs(self.claimed - self.estimate.value) / self.tolerance, 0.0)
            again = np.sort(np.argsort(-np.nan_to_num(excess, nan=np.inf).max(axis=1))[:MANY])
        own = np.abs(self.columns.flat.astype(np.float64))
        own = np.where((own > 0) & (2 * own < self.scales), own, self.scales)
        second = self.columns.estimate(self.rows[again], own, STEPS + CORNER_RUNGS, GOLDEN)
        confirmed = self._wrong(second, again)
        keep = np.zeros(self.is_wrong.shape, dtype=bool)
        keep[again] = self.is_wrong[again] & confirmed
        keep &= ~misled(self.columns, self.rows, self.estimate, self.claimed, keep)
        if keep.any():
            keep &= ~self._within_hull(keep)
        self.is_undecided |= self.is_wrong & ~keep
        self.is_wrong = keep

    def _within_hull(self, wrong: ndarray) -> ndarray:
        """Entries at ties whose claimed value is a derivative at points nearby (ties broken in several orders).

        Slopes of a smooth function differ nearby too, the less the nearer: ties explain only those that stay apart.
        """
        arrays = [self.evaluator.array(one) for one in self.evaluator.leaves]
        pooled = np.concatenate([widened(array).ravel() for array in arrays])
        values, counts = np.unique(pooled, return_counts=True)
        flat = self.columns.flat.astype(np.float64)
        tied = np.isin(flat[self.rows], values[counts > 1])
        suspects = np.flatnonzero(wrong.any(axis=1) & tied)
        inside: ndarray = np.zeros(wrong.shape, dtype=bool)
        if not suspects.size or pooled.size > 2 * SMALL_ARRAY:
            return inside
        claimed, value = self.claimed[suspects], self.estimate.value[suspects]

        def reach(share: float) -> ndarray:
            """Return how far slopes nearby lie from the numeric one, on the side of the claimed one."""
            low, high = self._hull(suspects, share, pooled.size)
            found: ndarray = np.where(claimed < value, value - low, high - value)
            return found

        far, slack = reach(LITTLE), SLIGHT * np.maximum(np.abs(claimed), np.abs(value))
        is_torn = (far > 2 * slack) & (np.abs(claimed - value) <= far + slack + self.absolute)
        if is_torn.any():
            is_torn &= reach(SMALL * LITTLE) > far / 2
        inside[suspects] = is_torn
        inside &= wrong
        return inside

    def _hull(self, rows: ndarray, share: float, count: int) -> tuple[ndarray, ndarray]:
        """Return the least and largest slopes, (R, J), where all elements are moved apart by a share of their size.

        As far as forward takes that: none, the least infinite, where it does not.
        """
        low, high = np.array(np.inf), np.array(-np.inf)
        rng = np.random.default_rng(11)
        order = np.linspace(-1.0, 1.0, count)
        for shift in (order, -order, *(rng.permutation(order) for _ in range(PLENTY))):
            try:
                nearby = Columns(_apart(self.evaluator, share * shift), self.leaf)
            except Exception:  # user code: a class of values is left
                continue
            steps = NEGLIGIBLE * self.scales[:, None]
            plus, minus, up, down = nearby.ladder(self.rows[rows], steps[self.rows[rows]])
            slope = ((plus - minus) / (up + down))[:, 0]
            low, high = np.fmin(low, slope), np.fmax(high, slope)
        return low, high

    def _unsteady(self) -> tuple[ndarray, ndarray]:
        """Entries whose claimed value may move by the deviation when its point moves by a few ulps, and those that do.

        What rounds some elements may round others, at other points.
        """
        worst = np.flatnonzero(self.is_wrong.any(axis=0))
        spread = np.zeros(self.claimed.shape)
        rng = np.random.default_rng(7)
        deviation = np.abs(self.claimed - self.estimate.value)
        if worst.size > SOME:
            size = np.fmax(np.abs(self.estimate.value), np.maximum(NEGLIGIBLE * self.natural, NONZERO))
            relative = np.where(self.is_wrong, deviation / size, 0.0)
            if np.nanmax(relative, initial=0.0) > LITTLE:
                return spread > 0, spread > 0
            worst = worst[:SOME]
        array = self.columns.array
        for _ in range(FEW):
            nudge = 1 + GRID_ULPS * resolution_of(array) * rng.choice([-1, 1], array.shape)
            moved = self.evaluator.replaced(self.leaf, frozen((array * nudge).astype(array.dtype)))
            spread = np.fmax(spread, self._moved(moved, worst))
        is_told = np.isfinite(self.claimed) & (self.estimate.kind <= Behaviour.ONE_SIDED)
        rounding = self._rounding()
        sizes = (rounding.max(), rounding[self.rows, None])
        may, does = (is_told & (UNSTEADY * np.fmax(spread, size) > deviation) for size in sizes)
        return may, does

    def _rounding(self) -> ndarray:
        """Return how far gradients (n,) in float64 are off by rounding: as those in float32, in proportion."""
        gradients = []
        for dtype in ("float64", "float32") if self.columns.array.dtype == np.float64 else ():
            with suppress(Exception):  # user code: it takes no float32
                ev = Evaluator(self.evaluator.checkable, cast_case(self.evaluator.case, dtype)).prepare()
                gradients.append(widened(ev.gradients(ev.uneven())[self.leaf]))
        one, *others = gradients or [np.zeros(self.columns.array.shape)]
        off = sum((one - other for other in others), np.zeros(one.shape)).reshape(-1)
        return largest_joined(off, self.elements) * (RESOLUTION / SINGLE_RESOLUTION)

    def _is_well_conditioned(self, unsteady: ndarray) -> ndarray:
        """Entries whose true derivative hardly moves by the ulps that move the claimed one: digits were lost."""
        if not unsteady.any():
            return unsteady
        deviation = np.abs(self.claimed - self.estimate.value)
        grave = deviation > np.where(self.single, SLIGHT, NEGLIGIBLE) * np.maximum(
            np.abs(self.estimate.value), LITTLE * np.maximum(largest(self.estimate.value), self.natural)
        )
        found: ndarray = grave & (self.estimate.bound < SMALL * deviation)
        return found

    def _moved(self, moved: dict[str, object], entries: ndarray) -> ndarray:
        change = np.zeros(self.claimed.shape)
        vector = np.zeros(self.claimed.shape[1])
        for entry in entries:
            vector[entry] = WEIGHT
            try:
                gradient = self.evaluator.gradients(self.evaluator.douts_from(vector), inputs=moved)[self.leaf]
            except Exception:  # leaving the domain by a few ulps says nothing about steadiness
                gradient = None
            vector[entry] = 0.0
            if gradient is not None and np.size(gradient) == self.columns.flat.size:
                flat = widened(gradient).ravel()[self.rows] / WEIGHT
                change[:, entry] = np.abs(flat - self.claimed[:, entry])
        return np.nan_to_num(change, nan=0.0, posinf=0.0)

    def failures(self) -> list[EntryFailure]:
        """The wrong entries, as data."""
        found = []
        for row, entry in zip(*np.nonzero(self.is_wrong)):
            kind = Behaviour(int(self.estimate.kind[row, entry]))
            actual = float(self.claimed[row, entry])
            code = {Behaviour.KINK: "GC103", Behaviour.JUMP: "GC104", Behaviour.STAIRCASE: "GC104"}.get(kind, "GC101")
            code = "GC105" if not np.isfinite(actual) else "GC152" if self.cancelled[row, entry] else code
            found.append(EntryFailure.of(self.estimate, (row, entry), code, self.leaf, int(self.rows[row]), actual))
        return found


def _apart(evaluator: Evaluator, shift: ndarray) -> Evaluator:
    """Return the case with every element of every input moved by its own share of its size."""
    inputs: dict[str, object] = dict(evaluator.inputs)
    start = 0
    for leaf in evaluator.leaves:
        array = evaluator.array(leaf)
        part = shift[start : start + array.size].reshape(array.shape)
        start += array.size
        moved = array + scales_of(array).reshape(array.shape) * part
        inputs = evaluator.replaced(leaf, frozen(moved.astype(array.dtype)), inputs)
    return Evaluator(evaluator.checkable, replace(evaluator.case, inputs=inputs)).prepare()
