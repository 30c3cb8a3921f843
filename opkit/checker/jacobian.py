"""The whole Jacobian of one case: analytic against numeric, entry by entry, with a verdict for each.

Two steps: four evaluations per column at a step chosen by a ladder along a random direction settle what agrees;
whatever does not gets a ladder of its own. Messages and reports are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opkit.checker.evaluate import Evaluator, Leaf, frozen
from opkit.checker.ladder import RATIO, STEPS, Estimate, Kind, settle, steps_for

__all__ = ["Comparison", "EntryFailure", "Tally", "analytic", "compare", "numeric", "scales_of"]

#: Two independent computations that agree to this relative distance are taken as right (float64).
AGREE = 2e-9
#: Relative part of the stated floor below which a difference is rounding of the analytic gradient.
FLOOR = 1e-9
#: The incoming gradient's entry that probes one output; no power of -1, so that dy**2 and |dy| show.
_WEIGHT = -1.25


@dataclass(frozen=True, slots=True)
class EntryFailure:
    """One entry of a Jacobian that is wrong."""

    code: str
    leaf: Leaf
    element: int
    entry: int
    expected: float
    actual: float
    bound: float
    low: float
    high: float
    kind: Kind

    @property
    def excess(self) -> float:
        """How many times the deviation exceeds what is allowed (infinite where the gradient is not finite)."""
        if not np.isfinite(self.actual):
            return float("inf")
        distance = max(self.low - self.actual, self.actual - self.high, 0.0)
        return distance / max(self.bound, 1e-300)


@dataclass(slots=True)
class Tally:
    """Counts for one input and one output of one case."""

    entries: int = 0
    agreed: int = 0
    corners: int = 0
    undecided: int = 0
    detectable: float = float("inf")


@dataclass(slots=True)
class Comparison:
    """The outcome for one case."""

    failures: list[EntryFailure] = field(default_factory=list)
    tallies: dict[tuple[Leaf, int], Tally] = field(default_factory=dict)
    numeric: dict[Leaf, np.ndarray] = field(default_factory=dict)
    analytic: dict[Leaf, np.ndarray] = field(default_factory=dict)


def scales_of(array: np.ndarray) -> np.ndarray:
    """Return the magnitude to step by for every element, (n,): its own, or a share of the array's."""
    flat = np.abs(array.ravel().astype(np.float64))
    if not flat.size:
        return flat
    typical = float(np.sqrt(np.mean(np.square(flat)))) or 1.0
    scales: np.ndarray = np.maximum(flat, 0.05 * typical)
    return scales


def analytic(evaluator: Evaluator, entries: int) -> dict[Leaf, np.ndarray]:
    """Return the Jacobian that backward claims, (J, n) per leaf; NaN rows where a gradient is missing."""
    found = {leaf: np.full((entries, evaluator.array(leaf).size), np.nan) for leaf in evaluator.leaves}
    is_reusable = evaluator.checkable.vjp is None
    pullback = evaluator.run()[1] if is_reusable else None
    vector = np.zeros(entries)
    for entry in range(entries):
        vector[entry] = _WEIGHT
        gradients = evaluator.gradients(evaluator.douts_from(vector), pullback)
        vector[entry] = 0.0
        for leaf, gradient in gradients.items():
            if gradient is not None and np.size(gradient) == found[leaf].shape[1]:
                found[leaf][entry] = np.asarray(gradient, dtype=np.float64).ravel()
    for matrix in found.values():
        matrix /= _WEIGHT
    return found


class _Columns:
    """Evaluates the reference with single elements of one leaf moved."""

    def __init__(self, evaluator: Evaluator, leaf: Leaf) -> None:
        self.array = evaluator.array(leaf)
        self.buffer = np.array(self.array, order="C", copy=True)
        self.flat = self.buffer.reshape(-1)
        self.inputs = evaluator.replaced(leaf, frozen(self.buffer))
        self.evaluator = evaluator
        self.base = evaluator.value_at(self.inputs)
        self.call = self._caller()

    def _caller(self) -> Callable[[], np.ndarray]:
        evaluator, inputs = self.evaluator, self.inputs
        return lambda: evaluator.value_at(inputs)

    def ladder(self, elements: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Values at x + h and x - h, (M, K, J) each, and the steps as they were, (M, K) each."""
        shape = (*steps.shape, self.base.size)
        plus, minus = np.empty(shape), np.empty(shape)
        origin = self.flat[elements].astype(np.float64)[:, None]
        above = (origin + steps).astype(self.array.dtype)
        below = (origin - steps).astype(self.array.dtype)
        flat, call = self.flat, self.call
        for row, element in enumerate(elements):
            kept = flat[element]
            for rung in range(steps.shape[1]):
                flat[element] = above[row, rung]
                plus[row, rung] = call()
                flat[element] = below[row, rung]
                minus[row, rung] = call()
            flat[element] = kept
        return plus, minus, above.astype(np.float64) - origin, origin - below.astype(np.float64)

    def estimate(self, elements: np.ndarray, scales: np.ndarray, count: int = STEPS, shrink: float = 1.0) -> Estimate:
        """A full ladder for some elements."""
        resolution = float(np.finfo(self.array.dtype).eps)
        steps = shrink * steps_for(scales[elements], count, resolution)
        plus, minus, up, down = self.ladder(elements, steps)
        return settle(plus, minus, self.base, up, down, self.evaluator.eps(), scales[elements])

    def along(self, direction: np.ndarray) -> Estimate:
        """A full ladder along one direction whose entries carry the scales."""
        resolution = float(np.finfo(self.array.dtype).eps)
        steps = steps_for(np.ones(1), STEPS, resolution)[0]
        kept = self.flat.copy()
        values: list[list[np.ndarray]] = [[], []]
        for side, sign in ((0, 1.0), (1, -1.0)):
            for step in steps:
                self.flat[...] = (kept + sign * step * direction).astype(self.array.dtype)
                values[side].append(self.call())
        self.flat[...] = kept
        plus, minus = np.stack(values[0])[None], np.stack(values[1])[None]
        return settle(plus, minus, self.base, steps[None], steps[None], self.evaluator.eps(), np.ones(1))


def numeric(evaluator: Evaluator, leaf: Leaf, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, _Columns]:
    """Return a fourth-order numeric Jacobian (n, J), the noise to expect in it (n, J), and the columns."""
    columns = _Columns(evaluator, leaf)
    scales = scales_of(columns.array)
    size = scales.size
    direction = scales * rng.choice([-1.0, 1.0], size) * rng.uniform(0.5, 1.5, size)
    probe = columns.along(direction)
    usable = np.isfinite(probe.bound[0]) & (probe.kind[0] <= Kind.ONE_SIDED) & (probe.value[0] != 0)
    fraction = float(np.median(probe.step[0][usable])) if usable.any() else 2.0**-10
    fraction = 2.0 ** np.round(np.log2(min(max(fraction, 1e-6), 0.06)))
    steps = 1.1347 * 2.0 ** np.floor(np.log2(scales))[:, None] * np.array([RATIO * fraction, fraction])
    elements = np.arange(size)
    with np.errstate(all="ignore"):
        plus, minus, up, down = columns.ladder(elements, steps)
        slope = (plus - minus) / (up + down)[:, :, None]
        fourth = slope[:, 1] + (slope[:, 1] - slope[:, 0]) / 15.0
        noise = np.maximum(evaluator.eps() * np.abs(columns.base), np.where(usable, probe.noise[0], 0.0))
        noise_over_step = 1.2 * noise / np.abs(down[:, 1:])
    return fourth, noise_over_step, columns


def compare(evaluator: Evaluator, rng: np.random.Generator, declared: Mapping[str, float] | None = None) -> Comparison:
    """Compare the claimed Jacobian with the numeric one.

    Args:
        evaluator: the prepared case.
        rng: source of the directions.
        declared: {input name: relative tolerance} that the user declared.

    Raises:
        Exception: what backward raised.
    """
    outcome = Comparison()
    entries = sum(evaluator.sizes)
    if not entries or not evaluator.leaves:
        return outcome
    claimed = analytic(evaluator, entries)
    outcome.analytic = claimed
    single = evaluator.eps() > 1e-10
    for leaf in evaluator.leaves:
        if evaluator.array(leaf).size:
            single_leaf = single | (evaluator.array(leaf).dtype.itemsize < 8)
            tolerance = float((declared or {}).get(leaf.name, 0.0))
            _compare_leaf(evaluator, leaf, claimed[leaf].T, single_leaf, tolerance, rng, outcome)
    if any(tally.corners for tally in outcome.tallies.values()) and not declared:
        _compare_ties(evaluator, claimed, single, rng, outcome)
    return outcome


def _compare_ties(
    evaluator: Evaluator,
    claimed: dict[Leaf, np.ndarray],
    single: np.ndarray,
    rng: np.random.Generator,
    out: Comparison,
) -> None:
    """Compare along directions that move equal values alike: ties stay ties, so one right answer is left."""
    arrays = [evaluator.array(leaf) for leaf in evaluator.leaves]
    pooled = np.concatenate([array.ravel().astype(np.float64) for array in arrays])
    _, places = np.unique(pooled, return_inverse=True)
    if places.max(initial=0) + 1 == pooled.size:
        return
    rates = rng.choice([-1.0, 1.0], pooled.size) * rng.uniform(0.5, 1.5, pooled.size)
    direction = rates[places.reshape(-1)] * max(float(np.abs(pooled).max()), 0.5)
    parts = np.split(direction, np.cumsum([array.size for array in arrays])[:-1])
    values: list[list[np.ndarray]] = [[], []]
    steps = steps_for(np.ones(1), STEPS, float(np.finfo(arrays[0].dtype).eps))
    for side, sign in ((0, 1.0), (1, -1.0)):
        for step in steps[0]:
            inputs: dict[str, Any] = dict(evaluator.inputs)
            for leaf, array, part in zip(evaluator.leaves, arrays, parts):
                moved = (array + sign * step * part.reshape(array.shape)).astype(array.dtype)
                inputs = evaluator.replaced(leaf, frozen(moved), inputs)
            values[side].append(evaluator.value_at(inputs))
    plus, minus = np.stack(values[0])[None], np.stack(values[1])[None]
    base = evaluator.value_at(evaluator.inputs)
    found = settle(plus, minus, base, steps, steps, evaluator.eps(), np.ones(1))
    with np.errstate(all="ignore"):
        actual = sum(claimed[leaf] @ part for leaf, part in zip(evaluator.leaves, parts))
        size = sum(np.abs(claimed[leaf]) @ np.abs(part) for leaf, part in zip(evaluator.leaves, parts))
        tolerance = 3.0 * found.bound[0] + np.where(single, 1e-4, 1e-7) * size
        is_sure = (found.kind[0] == Kind.REGULAR) & np.isfinite(found.bound[0]) & np.isfinite(actual)
        wrong = is_sure & (np.abs(actual - found.value[0]) > tolerance) & (found.bound[0] <= 1e-3 * size)
    known = {failure.entry for failure in out.failures}
    for entry in np.flatnonzero(wrong):
        if int(entry) in known:
            continue
        expected, bound = float(found.value[0, entry]), float(found.bound[0, entry])
        out.failures.append(
            EntryFailure(
                "GC106",
                evaluator.leaves[0],
                0,
                int(entry),
                expected,
                float(actual[entry]),
                bound,
                expected,
                expected,
                Kind.REGULAR,
            )
        )


def _compare_leaf(
    evaluator: Evaluator,
    leaf: Leaf,
    claimed: np.ndarray,
    single: np.ndarray,
    declared: float,
    rng: np.random.Generator,
    out: Comparison,
) -> None:
    fourth, noise, columns = numeric(evaluator, leaf, rng)
    scales = scales_of(columns.array)
    with np.errstate(all="ignore"):
        size = np.fmax(np.abs(claimed), np.abs(fourth))
        agree = np.where(single, 2e-5, AGREE) * size + 4.0 * noise
        if declared:
            agree = agree + declared * np.nanmax(np.where(np.isfinite(fourth), np.abs(fourth), 0.0), initial=0.0)
        settled = np.abs(claimed - fourth) <= agree
    tolerance = agree
    corner = np.zeros(settled.shape, dtype=bool)
    undecided = np.zeros(settled.shape, dtype=bool)
    value = fourth.copy()
    rows = np.flatnonzero(~settled.all(axis=1))
    if rows.size:
        judged = _Judged(columns, rows, scales, claimed[rows], single, ~settled[rows], declared)
        judged.confirm(evaluator, leaf)
        out.failures.extend(judged.failures(leaf))
        open_ = ~settled[rows]
        tolerance[rows] = np.where(open_, judged.tolerance, tolerance[rows])
        corner[rows] = open_ & judged.is_corner
        undecided[rows] = open_ & judged.is_undecided
        value[rows] = np.where(open_ & np.isfinite(judged.estimate.bound), judged.estimate.value, value[rows])
    out.numeric[leaf] = value.T
    _tally(evaluator, leaf, value, tolerance, corner, undecided, out)


def _tally(
    evaluator: Evaluator,
    leaf: Leaf,
    value: np.ndarray,
    tolerance: np.ndarray,
    corner: np.ndarray,
    undecided: np.ndarray,
    out: Comparison,
) -> None:
    start = 0
    for slot, width in zip(evaluator.slots, evaluator.sizes):
        part = slice(start, start + width)
        start += width
        with np.errstate(all="ignore"):
            size = np.abs(value[:, part])
            largest = np.nanmax(np.where(np.isfinite(size), size, 0.0), initial=0.0)
            counts = np.isfinite(size) & ~corner[:, part] & ~undecided[:, part]
            telling = counts & (size > 1e-3 * largest) & (size > 0)
            share = tolerance[:, part][telling] / size[telling]
        out.tallies[(leaf, slot)] = Tally(
            entries=size.size,
            agreed=int(counts.sum()),
            corners=int(corner[:, part].sum()),
            undecided=int(undecided[:, part].sum()),
            detectable=float(np.median(share)) if share.size else float("inf"),
        )


class _Judged:
    """Ladders of their own for the columns that did not agree at once."""

    def __init__(
        self,
        columns: _Columns,
        rows: np.ndarray,
        scales: np.ndarray,
        claimed: np.ndarray,
        single: np.ndarray,
        open_: np.ndarray,
        declared: float,
    ) -> None:
        self.columns, self.rows, self.scales, self.claimed, self.single = columns, rows, scales, claimed, single
        self.estimate = columns.estimate(rows, scales)
        largest = np.abs(np.where(np.isfinite(claimed), claimed, 0.0)).max(initial=0.0)
        natural = np.abs(columns.base[np.isfinite(columns.base)]).max(initial=0.0) / scales.min(
            initial=np.inf, where=scales > 0
        )
        rounding = 4.0 * columns.evaluator.eps() * natural + 1e-30
        self.absolute = (np.where(single, 2e-6, 1e-13) + declared) * largest + rounding
        self.tolerance = self._tolerance(self.estimate)
        self.is_corner = self.estimate.kind >= Kind.KINK
        self.is_undecided = self._undecided(self.estimate)
        self.is_wrong = open_ & self._wrong(self.estimate) & ~self._singular_rows()
        self.cancelled = np.zeros(self.is_wrong.shape, dtype=bool)

    def _singular_rows(self) -> np.ndarray:
        """Entries of elements at which some output has no derivative and whose gradient is not finite (0 * inf)."""
        none = (self.estimate.kind >= Kind.JUMP) | ~np.isfinite(self.estimate.bound)
        found: np.ndarray = none.any(axis=1, keepdims=True) & ~np.isfinite(self.claimed)
        return found

    def _tolerance(self, estimate: Estimate, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        with np.errstate(all="ignore"):
            size = np.fmax(np.abs(self.claimed[rows]), np.abs(estimate.value))
            size = np.where(np.isfinite(size), size, np.abs(estimate.value))
            relative = np.where(self.single, 2e-5, FLOOR)
            corner = np.where(estimate.kind >= Kind.KINK, 1e-5, 0.0)
            wide = np.maximum(np.abs(estimate.low), np.abs(estimate.high))
            found: np.ndarray = 3.0 * estimate.bound + relative * size + self.absolute + corner * wide
        return found

    def _undecided(self, estimate: Estimate) -> np.ndarray:
        with np.errstate(all="ignore"):
            nothing = ~np.isfinite(estimate.bound) | (estimate.kind >= Kind.SINGULAR)
            vague = estimate.bound > 0.03 * np.fmax(np.abs(estimate.value), self.absolute / 1e-6)
        found: np.ndarray = nothing | (vague & (estimate.kind <= Kind.ONE_SIDED))
        return found

    def _wrong(self, estimate: Estimate, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        claimed = self.claimed[rows]
        with np.errstate(all="ignore"):
            tolerance = self._tolerance(estimate, rows)
            outside = (claimed < estimate.low - tolerance) | (claimed > estimate.high + tolerance)
            known = np.isfinite(estimate.bound) & (estimate.kind < Kind.SINGULAR)
            size = np.fmax(np.abs(estimate.value), np.abs(estimate.high))
            sharp = estimate.bound <= np.maximum(1e-2 * size, 1e-6)
        is_smooth = estimate.kind <= Kind.KINK
        found: np.ndarray = known & (outside | (~np.isfinite(claimed) & sharp & is_smooth))
        return found

    def confirm(self, evaluator: Evaluator, leaf: Leaf) -> None:
        """Accuse only where a second, different ladder accuses as well and the gradient itself is steady."""
        if not self.is_wrong.any():
            return
        again = np.flatnonzero(self.is_wrong.any(axis=1))
        unsteady = self.is_wrong & self._unsteady(evaluator, leaf)
        self.cancelled = unsteady & self._is_well_conditioned(unsteady)
        self.is_wrong &= ~unsteady | self.cancelled
        if again.size > 24:  # so many columns cannot all be accidents: confirm the worst ones only
            with np.errstate(all="ignore"):
                excess = np.where(self.is_wrong, np.abs(self.claimed - self.estimate.value) / self.tolerance, 0.0)
            again = np.sort(np.argsort(-np.nan_to_num(excess, nan=np.inf).max(axis=1))[:24])
        own = np.abs(self.columns.flat.astype(np.float64))
        own = np.where((own > 0) & (own < 0.5 * self.scales), own, self.scales)
        second = self.columns.estimate(self.rows[again], own, STEPS + 5, 0.6180339887)
        confirmed = self._wrong(second, again)
        keep = np.zeros(self.is_wrong.shape, dtype=bool)
        keep[again] = self.is_wrong[again] & confirmed
        if keep.any():
            keep &= ~self._within_hull(evaluator, leaf, keep)
        self.is_undecided |= self.is_wrong & ~keep
        self.is_wrong = keep

    def _within_hull(self, evaluator: Evaluator, leaf: Leaf, wrong: np.ndarray) -> np.ndarray:
        """Entries at ties whose claimed value is a derivative at points nearby (ties broken in several orders)."""
        pooled = np.concatenate([evaluator.array(one).ravel().astype(np.float64) for one in evaluator.leaves])
        values, counts = np.unique(pooled, return_counts=True)
        flat = self.columns.flat.astype(np.float64)
        tied = np.isin(flat[self.rows], values[counts > 1])
        suspects = np.flatnonzero(wrong.any(axis=1) & tied)
        inside = np.zeros(wrong.shape, dtype=bool)
        if not suspects.size or flat.size > 400:
            return inside
        low, high = np.full(wrong.shape, np.inf), np.full(wrong.shape, -np.inf)
        rng = np.random.default_rng(11)
        order = np.linspace(-1.0, 1.0, flat.size)
        for shift in (order, -order, *(rng.permutation(order) for _ in range(6))):
            moved = flat + 1e-3 * self.scales * shift
            nearby = _Columns(evaluator, leaf)
            nearby.flat[...] = moved.astype(nearby.array.dtype)
            steps = 1e-6 * self.scales[:, None]
            with np.errstate(all="ignore"):
                plus, minus, up, down = nearby.ladder(self.rows[suspects], steps[self.rows[suspects]])
                slope = ((plus - minus) / (up + down)[:, :, None])[:, 0]
            low[suspects], high[suspects] = np.fmin(low[suspects], slope), np.fmax(high[suspects], slope)
        with np.errstate(all="ignore"):
            slack = 1e-2 * np.maximum(np.abs(low), np.abs(high)) + self.absolute
            inside = (self.claimed >= low - slack) & (self.claimed <= high + slack)
        return inside & wrong & tied[:, None]

    def _unsteady(self, evaluator: Evaluator, leaf: Leaf) -> np.ndarray:
        """Entries whose claimed value moves by more than the deviation when its point moves by a few ulps."""
        worst = np.flatnonzero(self.is_wrong.any(axis=0))
        spread = np.zeros(self.claimed.shape)
        rng = np.random.default_rng(7)
        with np.errstate(all="ignore"):
            deviation = np.abs(self.claimed - self.estimate.value)
            if worst.size > 8:
                relative = np.where(self.is_wrong, deviation / np.fmax(np.abs(self.estimate.value), 1e-300), 0.0)
                if np.nanmax(relative, initial=0.0) > 1e-3:
                    return spread > 0
                worst = worst[:8]
            array = evaluator.array(leaf)
            for _ in range(3):
                nudge = 1 + 4 * np.finfo(array.dtype).eps * rng.choice([-1, 1], array.shape)
                moved = evaluator.replaced(leaf, frozen((array * nudge).astype(array.dtype)))
                spread = np.fmax(spread, self._moved(evaluator, leaf, moved, worst))
            unsteady: np.ndarray = np.isfinite(self.claimed) & (10.0 * spread > deviation)
        return unsteady & (self.estimate.kind <= Kind.ONE_SIDED)

    def _is_well_conditioned(self, unsteady: np.ndarray) -> np.ndarray:
        """Entries whose true derivative hardly moves by the ulps that move the claimed one: digits were lost."""
        if not unsteady.any():
            return unsteady
        with np.errstate(all="ignore"):
            deviation = np.abs(self.claimed - self.estimate.value)
            largest = np.abs(np.where(np.isfinite(self.estimate.value), self.estimate.value, 0.0)).max(initial=0.0)
            grave = deviation > np.where(self.single, 1e-2, 1e-6) * np.maximum(
                np.abs(self.estimate.value), 1e-3 * largest
            )
            found: np.ndarray = grave & (self.estimate.bound < 0.05 * deviation)
        return found

    def _moved(self, evaluator: Evaluator, leaf: Leaf, moved: dict[str, object], entries: np.ndarray) -> np.ndarray:
        change = np.zeros(self.claimed.shape)
        vector = np.zeros(self.claimed.shape[1])
        for entry in entries:
            vector[entry] = _WEIGHT
            try:
                gradient = evaluator.gradients(evaluator.douts_from(vector), inputs=moved)[leaf]
            except Exception:  # leaving the domain by a few ulps says nothing about steadiness
                gradient = None
            vector[entry] = 0.0
            if gradient is not None and np.size(gradient) == self.columns.flat.size:
                flat = np.asarray(gradient, dtype=np.float64).ravel()[self.rows] / _WEIGHT
                change[:, entry] = np.abs(flat - self.claimed[:, entry])
        return np.nan_to_num(change, nan=0.0, posinf=0.0)

    def failures(self, leaf: Leaf) -> list[EntryFailure]:
        """The wrong entries, as data."""
        found = []
        for row, entry in zip(*np.nonzero(self.is_wrong)):
            kind = Kind(int(self.estimate.kind[row, entry]))
            actual = float(self.claimed[row, entry])
            code = {Kind.KINK: "GC103", Kind.JUMP: "GC104", Kind.STAIRCASE: "GC104"}.get(kind, "GC101")
            found.append(
                EntryFailure(
                    "GC105" if not np.isfinite(actual) else "GC152" if self.cancelled[row, entry] else code,
                    leaf,
                    int(self.rows[row]),
                    int(entry),
                    float(self.estimate.value[row, entry]),
                    actual,
                    float(self.estimate.bound[row, entry]),
                    float(self.estimate.low[row, entry]),
                    float(self.estimate.high[row, entry]),
                    kind,
                )
            )
        return found
