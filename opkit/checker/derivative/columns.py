"""Columns: a function of one input evaluated with single elements moved, and a quick numeric Jacobian of it.

Evaluates and estimates; what is claimed is not known here.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.estimate import Estimate
from opkit.checker.derivative.grid import at, extrapolated, gaps, least
from opkit.checker.derivative.ladder import Line, settle, steps_for
from opkit.checker.derivative.rows import Rows, candidates
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import median, resolution_of, signed, typical, widened
from opkit.checker.model.thresholds import (
    CENTRAL_NOISE,
    FIRST_STEP,
    LEAST_SCALE,
    MOVES,
    RATIO,
    STEPS,
    USUAL_STEP,
    WIDE_STEP,
)
from opkit.checker.model.types import ArrayMap
from opkit.record import record


def scales_of(array: ndarray) -> ndarray:
    """Return the magnitude to step by for every element, (n,): its own, or a share of the array's."""
    flat = np.abs(widened(array).ravel())
    scales: ndarray = np.maximum(flat, LEAST_SCALE * (typical(flat) or 1.0))
    return scales


@record
class Steps:
    """A step size that suits a function, and the noise of its values.

    Args:
        share: of the scale, the finer of the two of an extrapolated difference.
        noise: (J,) of every value.
    """

    share: float
    noise: ndarray


#: Those of a function of which nothing is known.
USUAL = Steps(USUAL_STEP, np.zeros(0))


class Columns:
    """Evaluates the reference with single elements of one leaf moved.

    Args:
        evaluator: the prepared case.
        leaf: the input.
    """

    def __init__(self, evaluator: Evaluator, leaf: InputLeaf) -> None:
        self.leaf, self.array = leaf, evaluator.array(leaf)
        (buffer,), moving = evaluator.movable([leaf])
        self.flat = buffer.reshape(-1)
        self.evaluator = evaluator
        self.scales = scales_of(self.array)
        self.call = partial(evaluator.value_of, moving)
        self.base = self.call().copy()
        self._rows: Rows | None = None
        self._reach = 0.0
        self._is_mixed = False

    def ladder(self, elements: ndarray, steps: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """Values at x + h and x - h, (M, K, J) each, and the steps as they were, (M, K, 1) each."""
        origin = self.flat[elements].astype(np.float64)[:, None]
        above = (origin + steps).astype(self.array.dtype)
        below = (origin - steps).astype(self.array.dtype)
        if (
            self._rows is not None
            and elements.size > 1
            and float((steps / self.scales[elements, None]).max()) <= self._reach
        ):
            values = self._together(elements, np.concatenate([above, below], axis=1))
            plus, minus = np.split(values, 2, axis=1)
        else:
            plus, minus = self._apart(elements, above, below)
        up, down = above.astype(np.float64) - origin, origin - below.astype(np.float64)
        return plus, minus, up[:, :, None], down[:, :, None]

    def _apart(self, elements: ndarray, above: ndarray, below: ndarray) -> tuple[ndarray, ndarray]:
        shape = (*above.shape, self.base.size)
        plus, minus = np.empty(shape), np.empty(shape)
        flat, call, rungs = self.flat, self.call, range(above.shape[1])
        for row, element in enumerate(elements.tolist()):
            kept = flat[element]
            for rung in rungs:
                flat[element] = above[row, rung]
                plus[row, rung] = call()
                flat[element] = below[row, rung]
                minus[row, rung] = call()
            flat[element] = kept
        return plus, minus

    def _together(self, elements: ndarray, points: ndarray) -> ndarray:
        """Values (M, K, J) with each element at its points, those of independent rows moved at once."""
        rows = self._rows
        assert rows is not None
        row, column = np.divmod(rows.place[elements], rows.width)
        order = np.argsort(column, kind="stable")
        moved, entries, targets = elements[order], rows.entries[row[order]], points[order].T.copy()
        kept, found = self.flat[moved], np.empty((targets.shape[0], *entries.shape))
        stops = [*(np.flatnonzero(np.diff(column[order])) + 1).tolist(), order.size]
        for start, stop in zip([0, *stops], stops):  # elements of one column, all in different rows
            part = slice(start, stop)
            for rung in range(targets.shape[0]):
                self.flat[moved[part]] = targets[rung, part]
                found[rung, part] = self.call()[entries[part]]
            self.flat[moved[part]] = kept[part]
        values: ndarray = np.broadcast_to(self.base, (*points.shape, self.base.size)).copy()
        for rung in range(targets.shape[0]):
            values[order[:, None], rung, entries] = found[rung]
        return values

    def find_rows(self, share: float) -> None:
        """Look whether rows are independent of each other at steps of this share of the scale, and smaller ones."""
        if share <= self._reach or self._is_mixed:
            return
        kept = self.flat.copy()
        moves = [share * self.scales * pattern for pattern in _patterns(kept.size)[: 2 if share > WIDE_STEP else 1]]
        shapes = [self.evaluator.outputs[slot].shape for slot in self.evaluator.slots]
        for rows in [self._rows] if self._rows is not None else candidates(self.array.shape, shapes):
            if len(rows.masks()) + 2 * rows.width >= 2 * kept.size:
                continue
            if all(rows.keeps_apart(self._mover(kept, move), self.base) for move in moves):
                self._rows, self._reach = rows, share
                break
        else:
            self._is_mixed = True
        self.flat[...] = kept

    def _mover(self, kept: ndarray, step: ndarray) -> ArrayMap:
        def moved(mask: ndarray) -> ndarray:
            np.add(kept, mask * step, out=self.flat, casting="same_kind")
            return self.call()

        return moved

    def estimate(self, elements: ndarray, scales: ndarray, count: int = STEPS, shrink: float = 1.0) -> Estimate:
        """A full ladder for some elements."""
        resolution = resolution_of(self.array)
        steps = shrink * steps_for(scales[elements], count, resolution)
        plus, minus, up, down = self.ladder(elements, steps)
        return settle(plus, minus, self.base, up, down, self.evaluator.eps(), scales[elements, None])

    def links(self) -> ndarray:
        """Return which elements (n, 1) change which entries (1, J) at the coarsest step of a ladder, if by a digit."""
        plus, minus, _, _ = self.ladder(np.arange(self.scales.size), FIRST_STEP * self.scales[:, None])
        ends = np.concatenate([plus, minus], axis=1)
        found: ndarray = (np.isfinite(ends) & np.isfinite(self.base) & (ends != self.base)).any(axis=1)
        return found

    # --- the quick numeric Jacobian
    def steps(self, rng: Generator) -> Steps:
        """Find good steps with a ladder along one random direction."""
        direction = self.scales * signed(rng, self.flat.size)
        rungs = steps_for(np.ones(1), STEPS, resolution_of(self.array))[0]
        values = np.concatenate(Line(self.evaluator, {self.leaf: direction.reshape(self.array.shape)}).ladder(rungs))
        return _choose(values, self.base, rungs, self.evaluator.eps())

    def quick(self, steps: Steps) -> tuple[ndarray, ndarray]:
        """Return extrapolated differences (n, J) and the noise in them (n, J): four evaluations an element."""
        scales = RATIO * FIRST_STEP * 2.0 ** np.floor(np.log2(self.scales))
        grid = np.multiply.outer(scales, [RATIO * steps.share, steps.share])
        plus, minus, up, down = self.ladder(np.arange(scales.size), grid)
        slope = (plus - minus) / (up + down)
        return extrapolated(slope, 2)[:, 0], CENTRAL_NOISE * steps.noise / np.abs(down[:, 1])


@lru_cache(maxsize=64)
def _patterns(size: int) -> tuple[ndarray, ndarray]:
    """Two ways (n,) to move all elements, each by another share: a row moved evenly may have no effect on anything."""
    rng = np.random.default_rng([3, size])
    first, second = (signed(rng, size, MOVES) for _ in range(2))
    return first, second


def _choose(values: ndarray, base: ndarray, rungs: ndarray, eps: ndarray) -> Steps:
    """Choose steps from the values (2, K, J) on both sides along one direction."""
    slope = (values[0] - values[1]) / (2.0 * rungs[:, None])
    fourth = extrapolated(slope, 2)
    level = eps * np.abs(base)
    total = gaps(fourth) + CENTRAL_NOISE * level / rungs[2:-1, None]
    chosen = least(total)
    value = at(chosen, fourth[1:-1])
    usable = np.isfinite(at(chosen, total)) & (value != 0)
    if not usable.any():
        return Steps(USUAL_STEP, level)
    finer = np.arange(fourth.shape[0])[:, None] > chosen + 1
    deviation = np.where(finer & np.isfinite(fourth), np.abs(fourth - value) * rungs[1:, None], 0.0) / CENTRAL_NOISE
    noise = np.where(usable, np.maximum(level, deviation.max(axis=0)), level)
    return Steps(median(rungs[2:-1][chosen[0, usable]]), noise)
