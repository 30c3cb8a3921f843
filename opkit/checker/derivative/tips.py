"""Tips: points at which several elements together leave no derivative, and none of them alone, like the tip of a cone.

A norm has one where a whole slice is zero. Says only whether a point is one; what follows is decided in checks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.ladder import Line
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import resolution_of, signed
from opkit.checker.model.thresholds import FEW, RATIO, SEED, SMALL, TIP_CURVES, TIP_LEAST


def is_tip(
    evaluator: Evaluator, leaf: InputLeaf, element: int, entries: Sequence[int], *, is_bent: bool = True
) -> bool:
    """Return whether a point is a tip: results have no derivative there, and no single element is to blame.

    The bend along a line through the point, f(x + hv) + f(x - hv) - 2 f(x) over h, is |n v| at an edge (a sum of such
    terms where several meet), and a curve like sqrt(v1**2 + v2**2) at a tip. With another direction added to the
    element's own, a sum of absolute values grows by a part proportional to its share, a curve by its square. Where
    values do not even meet at the point, as angles do not at 0, it is a tip as well.

    Args:
        evaluator: the prepared case.
        leaf: what is moved.
        element: where, in it.
        entries: of the vector of results; all that bend along the element have to have a tip.
        is_bent: whether they are known to bend. Where a ladder's finest steps are lost in rounding, as those of a
            distance by way of an arccosh, a kink is seen at larger ones only.
    """
    rng = np.random.default_rng(SEED)
    own = {one: np.zeros(evaluator.array(one).shape) for one in evaluator.leaves}
    own[leaf].reshape(-1)[element] = 1.0
    other = {one: signed(rng, part.shape) for one, part in own.items()}
    other[leaf].reshape(-1)[element] = 0.0
    at = leaf, element, list(entries)
    if _is_tip_beside(evaluator, at, own, other, is_bent=is_bent):
        return True
    # Among all others there may be those that bend the result for themselves: one neighbour along each axis has none.
    place = np.unravel_index(element, own[leaf].shape)
    sizes: tuple[int, ...] = own[leaf].shape if is_bent else ()
    for axis, size in enumerate(sizes):
        beside = {one: np.zeros_like(part) for one, part in own.items()}
        next_one = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
        beside[leaf][next_one] = 1.0
        if size > 1 and _is_tip_beside(evaluator, at, own, beside, is_bent=True):
            return True
    return False


def _is_tip_beside(
    evaluator: Evaluator,
    at: tuple[InputLeaf, int, list[int]],
    own: dict[InputLeaf, ndarray],
    other: dict[InputLeaf, ndarray],
    *,
    is_bent: bool,
) -> bool:
    """Return whether a point is a tip as far as one other direction beside the element's own shows."""
    leaf, element, entries = at
    array = evaluator.array(leaf)
    # The cube root balances rounding against what is smooth: the optimum of central differences.
    length = float(np.cbrt(resolution_of(array))) * float(scales_of(array)[element]) * (1 if is_bent else 1 / SMALL)

    def value(share: float, length: float) -> ndarray:
        line = Line(evaluator, {one: own[one] + share * other[one] for one in own})
        return np.array(line.at(length)[entries])

    def bend(share: float, length: float = length) -> ndarray:
        found: ndarray = value(share, length) + value(share, -length) - 2 * value(share, 0.0)
        return found

    with np.errstate(all="ignore"):
        base = value(1.0, 0.0)
        coarse, fine = (abs(value(1.0, part) - base) for part in (length, SMALL * length))
        torn = 2 * fine > coarse
        alone = bend(0.0)
        size = abs(alone)
        # A kink's bend shrinks with the step, a smooth curve's with its square.
        shrinks_slowly = TIP_CURVES * RATIO * abs(bend(0.0, length / RATIO)) > size
        bent = torn | is_bent | (shrinks_slowly & (size > TIP_LEAST * coarse))
        tips, is_open = torn, bent & ~torn
        for share in RATIO ** -np.arange(FEW):
            if not is_open.any():
                break
            wide, narrow = (bend(part) + bend(-part) - 2 * alone for part in (share, share / 2))
            is_first = is_open & (abs(wide) < size)
            tips = tips | (is_first & (narrow > TIP_LEAST * size) & (wide > TIP_CURVES * narrow))
            is_open = is_open & ~is_first
    return bool(bent.any() and tips[bent].all())
