"""Guards: wrong derivatives that are right but for a guard of forward, which makes it flat.

Says only what taking the guards away does at a point; what follows is decided in checks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.jacobian import analytic
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.derivative.ties import compare_ties
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.thresholds import GUARD_AGREES, GUARD_STEPS, IS_SINGLE
from opkit.checker.model.unguarded import Unguarded


def explained(evaluator: Evaluator, bare: Unguarded, failures: Sequence[EntryFailure]) -> list[EntryFailure]:
    """Return the wrong entries that a guard is to blame for.

    Without the guards backward gives the slope of forward there, or one of the two has no finite value, so that only
    the guard lets the point in.

    Args:
        evaluator: the prepared case.
        bare: takes the guards away.
        failures: wrong entries of its Jacobian.
    """
    with bare.applied(), np.errstate(all="ignore"):
        values = evaluator.value_at(evaluator.inputs)
        try:
            claimed = analytic(evaluator, sum(evaluator.sizes))
        except Exception:  # backward may need the guards of forward; they explain nothing then
            claimed = {}
        found = [one for one in failures if _is_explained(evaluator, one, values, claimed)]
        ties = [one for one in failures if one.code == "GC106" and one not in found]
        return [*found, *ties] if ties and _keeps_ties(evaluator, claimed) else found


def _is_explained(
    evaluator: Evaluator, failure: EntryFailure, values: np.ndarray, claimed: dict[InputLeaf, np.ndarray]
) -> bool:
    if not np.isfinite(values[failure.entry]):
        return True
    if failure.leaf not in claimed:
        return False
    slope = float(claimed[failure.leaf][failure.entry, failure.element])
    return not np.isfinite(slope) or _has_slope(evaluator, failure, slope)


def _keeps_ties(evaluator: Evaluator, claimed: dict[InputLeaf, np.ndarray]) -> bool:
    """Say whether nothing is wrong along directions that keep the ties."""
    single = evaluator.eps() > IS_SINGLE
    return bool(claimed) and not compare_ties(evaluator, claimed, single, np.random.default_rng(0), set())


def _has_slope(evaluator: Evaluator, failure: EntryFailure, claimed: float) -> bool:
    """Say whether a difference of some step shows about the slope that backward claims.

    What a guard hides is often a value near the last digits of 1, as 1 - sigmoid(35) is: a staircase, which only wide
    steps see through.
    """
    array = evaluator.array(failure.leaf)
    own = abs(float(array.reshape(-1)[failure.element]))
    scales = {own, abs(1 - own), float(scales_of(array)[failure.element])} - {0.0}  # guards lie next to 0 and 1
    for step in (share * scale for scale in sorted(scales) for share in GUARD_STEPS):
        moved = np.array([array, array])
        moved.reshape(2, -1)[:, failure.element] += (step, -step)
        high, low = (evaluator.value_at(evaluator.replaced(failure.leaf, frozen(one))) for one in moved)
        slope = (high - low)[failure.entry] / (2 * step)
        if abs(slope - claimed) <= GUARD_AGREES * abs(claimed):
            return True
    return False
