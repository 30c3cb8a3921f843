"""Resolution: whether a ladder's slopes are accidents, since the function lives on scales that its steps pass over.

A ladder chooses the rung whose neighbours agree best. A function that oscillates many times within every step, is flat
in the small and has steps in the large, or bends on one scale only, can make rungs agree on a slope that is nowhere its
derivative. Each look here takes the claimed slope and asks whether the function has it on another scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import Columns
from opkit.checker.derivative.estimate import Behaviour, Estimate
from opkit.checker.derivative.ladder import steps_for
from opkit.checker.model.numbers import resolution_of
from opkit.checker.model.thresholds import (
    BOUNDS,
    COARSE_LOOKS,
    FINE_LOOKS,
    FINER_BELOW,
    FINER_LOOKS,
    FINER_REACH,
    FIRST_STEP,
    GRID_ULPS,
    HAS_SLOPE,
    HAS_SMALL_SLOPE,
    LEAST_STEP,
    MOST_LOOKED_AT,
    OSCILLATES,
    OSCILLATION_ULPS,
    OTHER_SCALE,
    OTHER_SCALE_NOISE,
    RATIO,
    SLIGHT_SCALE,
    SMALL_GAP_SHARE,
    SMALL_LOOKS,
)

#: Shares of the length over which the claimed slope would change the values: flat parts bend within less of it.
_FINER = RATIO ** -(2.0 * np.arange(FINER_LOOKS))
#: Shares of the scale: coarse steps, and steps at which only rounding and unresolved oscillations change a value.
_COARSE_AND_FINE = np.array([*FIRST_STEP * RATIO ** -np.arange(COARSE_LOOKS), *FINE_LOOKS])
_SMALL = np.array(SMALL_LOOKS)


def misled(columns: Columns, rows: ndarray, estimate: Estimate, claimed: ndarray, wrong: ndarray) -> ndarray:
    """Return the entries (M, J) among the wrong ones whose numeric value is not evidence.

    Args:
        columns: evaluates the function.
        rows: (M,) elements.
        estimate: of the elements, (M, J).
        claimed: (M, J) slopes.
        wrong: (M, J) mask of the entries that would be accused.
    """
    found = np.zeros(wrong.shape, dtype=bool)
    for look in (_unresolved, _at_small_steps):
        open_ = wrong & ~found & (estimate.kind <= Behaviour.ONE_SIDED)
        every = np.flatnonzero(open_.any(axis=1))
        chosen = every[:MOST_LOOKED_AT]
        if chosen.size:
            found[chosen] |= open_[chosen] & look(columns, rows[chosen], estimate.value[chosen], claimed[chosen])
            if chosen.size < every.size and not (open_[chosen] & ~found[chosen]).any():
                found |= open_  # all that were looked at are accidents: so are the others
    steep = wrong & ~found & np.isfinite(claimed) & (np.abs(claimed) > BOUNDS * np.abs(estimate.value))
    for row in np.flatnonzero(steep.any(axis=1))[:MOST_LOOKED_AT]:
        found[row] |= _on_a_finer_scale(
            columns, rows[row : row + 1], claimed[row], np.flatnonzero(steep[row])[:MOST_LOOKED_AT]
        )
    return found


def oscillates(coarse: ndarray, fine: ndarray, rounding: ndarray) -> ndarray:
    """Say where a value changes over 1e-11 of the scale by a share of what it changes over much of it.

    Args:
        coarse: changes of the values over coarse steps.
        fine: over the finest.
        rounding: below which a change says nothing.
    """
    return (fine > OSCILLATES * coarse) & (fine > rounding)


def has_slope(values: Callable[[float], tuple[float, float]], claimed: float, steps: ndarray) -> bool:
    """Return whether differences over some step and a quarter of it agree with a slope to a twentieth.

    Args:
        values: the value at x + step and x - step.
        claimed: the slope.
        steps: to try.
    """
    for step in steps:
        (above, below), (near_above, near_below) = values(step), values(step / RATIO)
        coarse, fine = (above - below) / (2.0 * step), (near_above - near_below) / (2.0 * step / RATIO)
        if abs(fine + (fine - coarse) / (RATIO**2 - 1) - claimed) <= HAS_SLOPE * abs(claimed):
            return True
    return False


def finer_steps(claimed: float, reach: float) -> ndarray:
    """Steps over which a slope would change the values by shares of their reach."""
    return FINER_REACH * reach / abs(claimed) * _FINER


def _unresolved(columns: Columns, elements: ndarray, value: ndarray, claimed: ndarray) -> ndarray:
    plus, minus = columns.ladder(elements, columns.scales[elements][:, None] * _COARSE_AND_FINE)[:2]
    # What is left beside the numeric slope: an oscillation may lie on a slope that hides it.
    line = columns.scales[elements][:, None, None] * _COARSE_AND_FINE[:, None] * value[:, None]
    change = np.fmax(np.abs(plus - columns.base - line), np.abs(minus - columns.base + line))
    coarse, fine = (
        np.fmax.reduce(change[:, :COARSE_LOOKS], axis=1),
        np.fmax.reduce(change[:, COARSE_LOOKS:], axis=1),
    )
    return oscillates(coarse, fine, OSCILLATION_ULPS * columns.evaluator.eps() * np.abs(columns.base))


def _at_small_steps(columns: Columns, elements: ndarray, value: ndarray, claimed: ndarray) -> ndarray:
    """Entries whose claimed slope agrees with steps that are small enough to distinguish it from the numeric one."""
    plus, minus, up, down = columns.ladder(elements, columns.scales[elements][:, None] * _SMALL)
    slope = (plus - minus) / (up + down)[:, :, None]
    rounding = GRID_ULPS * columns.evaluator.eps() * np.abs(columns.base) / down[:, :, None]
    gap = np.abs(value - claimed)
    gap[gap < OTHER_SCALE * np.fmax(np.abs(claimed), np.abs(value))] = 0.0  # slight: not a matter of scales
    near = np.minimum(HAS_SMALL_SLOPE * np.abs(claimed), SMALL_GAP_SHARE * gap)
    agrees = np.abs(slope - claimed[:, None]) <= near[:, None] + rounding
    found: ndarray = (agrees & (gap[:, None] > OTHER_SCALE_NOISE * rounding)).any(axis=1)
    if found.any():  # where some have another scale, slight differences are of that kind too
        found |= (gap < SLIGHT_SCALE * np.fmax(np.abs(claimed), np.abs(value))) & np.isfinite(claimed)
    return found


def _on_a_finer_scale(columns: Columns, element: ndarray, claimed: ndarray, entries: ndarray) -> ndarray:
    """Entries (J,) of one element whose claimed slope is there on the length that would show it."""
    found = np.zeros(claimed.shape, dtype=bool)
    scale = columns.scales[element]
    plus, minus = columns.ladder(element, steps_for(scale, 4))[:2]
    change = np.fmax(np.abs(plus[0] - columns.base), np.abs(minus[0] - columns.base))
    reach = np.fmax.reduce(change, axis=0)
    least = LEAST_STEP * resolution_of(columns.array) * scale[0]
    for entry in entries.tolist():
        steps = finer_steps(float(claimed[entry]), float(reach[entry]))

        def values(step: float, entry: int = entry) -> tuple[float, float]:
            above, below = columns.ladder(element, np.array([[step]]))[:2]
            return float(above[0, 0, entry]), float(below[0, 0, entry])

        found[entry] = has_slope(
            values, float(claimed[entry]), steps[(steps > least) & (steps < FINER_BELOW * scale[0])]
        )
    return found
