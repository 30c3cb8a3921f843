"""The whole Jacobian of one case: analytic against numeric, entry by entry, with a verdict for each.

Four evaluations per column, at steps chosen by a ladder along a random direction, settle what agrees;
whatever does not gets ladders of its own (judge). Messages and reports are made elsewhere.

Ties: gradients compared along directions that move equal values alike.

Along them ties stay ties, so that one correct answer is left where single elements have many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from itertools import islice
from time import perf_counter

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.columns import USUAL, Columns, Steps
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.judge import EntryFailure, Judge
from opkit.checker.derivative.ladder import Line, settle, steps_for
from opkit.checker.derivative.resolution import Looks
from opkit.checker.derivative.rows import Rows, candidates
from opkit.checker.model.evaluate import Evaluator, InputLeaf, flat
from opkit.checker.model.numbers import largest, resolution_of, signed
from opkit.checker.model.thresholds import (
    BOUNDS,
    CALLS_A_LADDER,
    FLOOR,
    FLOOR_SINGLE,
    GRID_ULPS,
    IS_SINGLE,
    LITTLE,
    MANY,
    NEGLIGIBLE,
    PLAIN_CALLS,
    PLENTY,
    PROMISE,
    RATIO,
    ROW_MARGIN,
    STEPS,
    WEIGHT,
    WHOLE_LADDER,
)
from opkit.record import mutable


def compare_ties(
    evaluator: Evaluator,
    claimed: dict[InputLeaf, ndarray],
    single: ndarray,
    rng: Generator,
    known: set[int],
) -> list[EntryFailure]:
    """Compare along directions that move equal values alike: ties stay ties, so that one correct answer is left.

    All values move at once; where that is wrong, those of each tie alone, so that a failure has a place.
    """
    arrays = [evaluator.array(leaf) for leaf in evaluator.leaves]
    pooled = np.concatenate([array.ravel().astype(np.float64) for array in arrays])
    values, places, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    if counts.max(initial=0) < 2:
        return []
    matrix = np.concatenate([claimed[leaf] for leaf in evaluator.leaves], axis=1)
    size, rates = max(float(np.abs(pooled).max()), 1 / 2), signed(rng, pooled.size)
    found, actual, wrong = _along_ties(evaluator, matrix, rates[places.reshape(-1)] * size, single)
    failures = {
        entry: EntryFailure.of(found, (0, entry), "GC106", evaluator.leaves[0], 0, float(actual[entry]))
        for entry in np.flatnonzero(wrong).tolist()
        if entry not in known
    }
    ends = np.cumsum([array.size for array in arrays])
    shares = np.bincount(places.reshape(-1), np.abs(matrix[list(failures)]).sum(axis=0)) if failures else counts
    largest_first = (one for one in np.argsort(-shares, kind="stable") if failures and counts[one] > 1)
    for one in islice(largest_first, MANY):
        tied = pooled == values[one]
        found, actual, wrong = _along_ties(evaluator, matrix, tied.astype(np.float64), single)
        number = int(np.searchsorted(ends, np.argmax(tied), side="right"))
        begin, end = int(ends[number] - arrays[number].size), int(ends[number])
        for entry in failures.keys() & set(np.flatnonzero(wrong).tolist()):
            element = int(np.argmax(np.where(tied, np.abs(matrix[entry]) + 1, 0)[begin:end]))
            at = (0, entry), "GC106", evaluator.leaves[number], element, float(actual[entry])
            failures[entry] = replace(EntryFailure.of(found, *at), ties=int(tied.sum()))
    return list(failures.values())


def _along_ties(
    evaluator: Evaluator, matrix: ndarray, direction: ndarray, single: ndarray
) -> tuple[Estimate, ndarray, ndarray]:
    """Return what is measured along a direction of all inputs, what backward gives, and which entries are wrong."""
    arrays = [evaluator.array(leaf) for leaf in evaluator.leaves]
    parts = np.split(direction, np.cumsum([array.size for array in arrays])[:-1])
    ways = {leaf: part.reshape(array.shape) for leaf, part, array in zip(evaluator.leaves, parts, arrays)}
    line = Line(evaluator, ways)
    resolution = resolution_of(arrays[0])
    steps, whole = (steps_for(np.ones(1), count, resolution)[:, :, None] for count in (STEPS, WHOLE_LADDER))
    plus, minus = line.ladder(steps.ravel())
    base = evaluator.value_at(evaluator.inputs)
    found = settle(plus, minus, base, steps, steps, evaluator.eps(), np.ones((1, 1)))
    actual, size = matrix @ direction, np.abs(matrix) @ np.abs(direction)
    tolerance = BOUNDS * found.bound[0] + np.where(single, FLOOR_SINGLE, PROMISE) * size
    grid = GRID_ULPS * evaluator.eps() * max(largest(base), evaluator.typical)
    tolerance += np.where(found.step[0] > 0, grid / found.step[0], 0.0)
    is_sure = (found.kind[0] == Behaviour.REGULAR) & np.isfinite(found.bound[0]) & np.isfinite(actual)
    is_sure &= NEGLIGIBLE * np.abs(actual) <= np.maximum(
        evaluator.natural() * np.abs(direction).max(), np.abs(found.value[0])
    )
    looks = Looks(*line.ladder(whole.ravel()), base, whole, whole, evaluator.eps())
    is_sure &= ~(looks.oscillate(found.value) | looks.have(actual[None], found.value))[0]
    wrong = (
        is_sure
        & (np.abs(actual - found.value[0]) > tolerance)
        & (found.bound[0] <= LITTLE * np.maximum(size, np.abs(found.value[0])))
    )
    return found, actual, wrong


@mutable
class Tally:
    """Counts for one input and one output of one case, or of several."""

    entries: int = 0
    agreed: int = 0
    corners: int = 0
    undecided: int = 0
    cases: int = 0
    detectable: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another case too."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@mutable
class Comparison:
    """The outcome for one case; by input, what was measured, what backward claims, and where the two agree."""

    failures: list[EntryFailure] = field(default_factory=list)
    tallies: dict[tuple[InputLeaf, int], Tally] = field(default_factory=dict)
    numeric: dict[InputLeaf, ndarray] = field(default_factory=dict)
    analytic: dict[InputLeaf, ndarray] = field(default_factory=dict)
    agreed: dict[InputLeaf, ndarray] = field(default_factory=dict)


def analytic(evaluator: Evaluator) -> dict[InputLeaf, ndarray]:
    """Return the Jacobian that backward claims, (J, n) per leaf; NaN rows where a gradient is missing.

    Where backward keeps rows apart, one run gives an entry of each; elsewhere each entry takes one.
    """
    shapes = [evaluator.outputs[slot].shape for slot in evaluator.slots]
    tried = _Rowwise(evaluator)
    found: dict[InputLeaf, ndarray] = {}
    for leaf in evaluator.leaves:
        every = candidates(evaluator.array(leaf).shape, shapes)
        apart = (rows for rows in every if tried.cost(rows) < tried.entries and tried.keeps_apart(leaf, rows))
        rows = next(apart, None)
        found[leaf] = tried.whole(leaf) if rows is None else tried.jacobian(leaf, rows)
    return found


class _Rowwise:
    """Runs backward for some entries at once; what one input asked for serves the next one too.

    Args:
        evaluator: the prepared case.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.entries = evaluator, evaluator.entries
        self.pullback = evaluator.run()[1] if evaluator.checkable.vjp is None else None
        self.weights = evaluator.weights()
        self.known = dict(evaluator.known)

    def cost(self, rows: Rows) -> int:
        """Number of calls that a structure would add to what was spent."""
        return len(self.known) + len(rows.factors()) + len(rows.entries.T)

    def gradient(self, leaf: InputLeaf, chosen: ndarray, values: ndarray) -> ndarray:
        """Return a leaf's flat gradient for an incoming one that has values at some entries; NaN where none is."""
        vector = np.zeros(self.entries)
        vector[chosen] = values
        key = vector.tobytes()
        if key not in self.known:
            self.known[key] = flat(self.evaluator.gradients(self.evaluator.douts_from(vector), self.pullback))
        found, size = self.known[key].get(leaf), self.evaluator.array(leaf).size
        return np.full(size, np.nan) if found is None or found.size != size else found

    def keeps_apart(self, leaf: InputLeaf, rows: Rows) -> bool:
        """Return whether the gradient of each row follows what comes in for it, and that alone, bit for bit."""
        weights = self.weights[rows.entries]
        base = self.gradient(leaf, rows.entries, weights)
        return all(
            np.array_equal(self.gradient(leaf, rows.entries, weights * factors)[rows.elements], expected)
            for factors, expected in zip(rows.factors(), base[rows.elements] * rows.factors())
        )

    def whole(self, leaf: InputLeaf) -> ndarray:
        """Return the matrix (J, n) from one backward per entry."""
        matrix = np.empty((self.entries, self.evaluator.array(leaf).size))
        for entry in range(self.entries):
            matrix[entry] = self.gradient(leaf, np.asarray(entry), np.asarray(WEIGHT)) / WEIGHT
        return matrix

    def jacobian(self, leaf: InputLeaf, rows: Rows) -> ndarray:
        """Return the matrix (J, n) from one backward per column of the rows' entries."""
        matrix = np.zeros((self.entries, rows.place.size))
        for chosen in rows.entries.T:
            weights = self.weights[chosen]
            given = self.gradient(leaf, chosen, weights)[rows.elements]
            matrix[chosen[:, None], rows.elements] = given / weights[:, None]
        return matrix


@np.errstate(all="ignore")
def compare(
    evaluator: Evaluator,
    rng: Generator,
    declared: Mapping[str, float],
    known: dict[str, Steps],
    seconds: float = np.inf,
) -> Comparison:
    """Compare the claimed Jacobian with the numeric one.

    Args:
        evaluator: the prepared case.
        rng: source of the directions.
        declared: {input name: relative tolerance} that the user declared.
        known: {input name: steps} that suited other cases of the op, or its other inputs; filled by this one.
        seconds: of the clock, that the closer looks at what does not agree may take.

    Raises:
        Exception: what backward raised.
    """
    outcome = Comparison()
    if not evaluator.entries or not evaluator.leaves:
        return outcome
    claimed = analytic(evaluator)
    outcome.analytic = claimed
    single = evaluator.eps() > IS_SINGLE
    share = seconds / len(evaluator.leaves)
    for leaf in evaluator.leaves:
        if evaluator.array(leaf).size:
            single_leaf = single | (evaluator.array(leaf).dtype.itemsize < 8)
            tolerance = max(float(declared.get(leaf.name, 0.0)), evaluator.slack())
            _compare_leaf(evaluator, leaf, claimed[leaf].T, single_leaf, tolerance, rng, known, share, outcome)
    if any(tally.corners for tally in outcome.tallies.values()) and not declared:
        wrong = {failure.entry for failure in outcome.failures}
        outcome.failures.extend(compare_ties(evaluator, claimed, single, rng, wrong))
    return outcome


def _compare_leaf(
    evaluator: Evaluator,
    leaf: InputLeaf,
    claimed: ndarray,
    single: ndarray,
    declared: float,
    rng: Generator,
    known: dict[str, Steps],
    seconds: float,
    out: Comparison,
) -> None:
    columns = Columns(evaluator, leaf)
    first = known.get(leaf.name) or next(iter(known.values()), USUAL)
    for turn in range(2):
        # Those of another case come with no more noise than the values' own rounding.
        steps = columns.steps(rng) if turn else Steps(first.share, evaluator.eps() * np.abs(columns.base))
        columns.find_rows(ROW_MARGIN * RATIO * steps.share)
        begun = perf_counter()
        value, noise = columns.quick(steps)
        a_call = (perf_counter() - begun) / (PLAIN_CALLS * columns.flat.size)
        tolerance = _agreement(claimed, value, noise, single, declared)
        settled = np.abs(claimed - value) <= tolerance
        if settled.all():
            known.setdefault(leaf.name, steps)
            break
    corner = np.zeros(settled.shape, dtype=bool)
    undecided = np.zeros(settled.shape, dtype=bool)
    rows = np.flatnonzero(~settled.all(axis=1))
    judged = int(max(min(PLENTY, seconds / (CALLS_A_LADDER * a_call)), 1))
    if rows.size > judged:
        rows = _worst(rows, judged, claimed, value, tolerance, undecided)
    if rows.size:
        is_open = ~settled[rows]
        judge = Judge(columns, rows, claimed[rows], single, is_open, declared, np.abs(claimed) > 0)
        judge.confirm()
        out.failures.extend(judge.failures())
        tolerance[rows] = np.where(is_open, judge.tolerance, tolerance[rows])
        corner[rows] = is_open & judge.is_corner
        undecided[rows] = is_open & judge.is_undecided
        value[rows] = np.where(is_open & np.isfinite(judge.estimate.bound), judge.estimate.value, value[rows])
    out.numeric[leaf], out.agreed[leaf] = value.T, (np.abs(claimed - value) <= tolerance).T
    _tally(evaluator, leaf, np.where(claimed == 0, 0.0, value), tolerance, corner, undecided, out)


def _worst(
    rows: ndarray, most: int, claimed: ndarray, value: ndarray, tolerance: ndarray, undecided: ndarray
) -> ndarray:
    """Keep the rows that are furthest off and some of the others; the rest is left undecided."""
    excess = np.nan_to_num(np.abs(claimed[rows] - value[rows]) / tolerance[rows], nan=np.inf).max(axis=1)
    order = np.argsort(-excess, kind="stable")
    half = -(-most // 2)
    spread = order[half :: max(1, (order.size - half) // half)][: most - half]
    kept = np.sort(rows[np.concatenate([order[:half], spread])])
    undecided[np.setdiff1d(rows, kept)] = True
    return kept


def _agreement(claimed: ndarray, value: ndarray, noise: ndarray, single: ndarray, declared: float) -> ndarray:
    size = np.fmax(np.abs(claimed), np.abs(value))
    tolerance: ndarray = np.where(single, FLOOR_SINGLE, 2 * FLOOR) * size + GRID_ULPS * noise
    if declared:
        tolerance = tolerance + declared * largest(value)
    return tolerance


def _tally(
    evaluator: Evaluator,
    leaf: InputLeaf,
    value: ndarray,
    tolerance: ndarray,
    corner: ndarray,
    undecided: ndarray,
    out: Comparison,
) -> None:
    start = 0
    for slot, width in zip(evaluator.slots, evaluator.sizes):
        part = slice(start, start + width)
        start += width
        size = np.abs(value[:, part])
        counts = np.isfinite(size) & ~corner[:, part] & ~undecided[:, part]
        largest = size.max(initial=0.0, where=counts)
        telling = counts & (size > LITTLE * largest) & (size > 0)
        share = tolerance[:, part][telling] / size[telling]
        out.tallies[(leaf, slot)] = Tally(
            entries=size.size,
            agreed=int(counts.sum()),
            corners=int(corner[:, part].sum()),
            undecided=int(undecided[:, part].sum()),
            cases=1,
            detectable=[float(np.partition(share, share.size // 2)[share.size // 2])] if share.size else [],
        )
