"""Tips: points at which several elements together leave no derivative, and none of them alone, like the tip of a cone.

A norm has one where a whole slice is zero. Says only whether a point is one; what follows is decided in checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.lines import Line
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.numbers import resolution_of, signed, typical
from opkit.checker.model.thresholds import BESIDE, FEW, RATIO, SEED, SMALL, TIP_CURVES, TIP_LEAST


def takes_several(evaluator: Evaluator, leaf: InputLeaf, element: int) -> bool:
    """Return whether a gradient that is not finite at an element is so only because of where the others stand.

    They are moved by next to nothing, and the element stays: what it alone brings about, as 0 does in x / x, is still
    there.
    """
    rng = np.random.default_rng(SEED)
    inputs: Mapping[str, Any] = evaluator.inputs
    for one in evaluator.leaves:
        array = evaluator.array(one)
        moved = (array + (typical(array) or 1.0) * BESIDE[0] * rng.uniform(-1, 1, array.shape)).astype(array.dtype)
        if one == leaf:
            moved.reshape(-1)[element] = array.reshape(-1)[element]
        inputs = evaluator.replaced(one, frozen(moved), inputs)
    try:
        with np.errstate(all="ignore"):
            found = evaluator.gradients(evaluator.uneven(), inputs=inputs)[leaf]
    except Exception:  # user code: it takes these values alone
        return False
    return found is not None and bool(np.isfinite(np.asarray(found).reshape(-1)[element]))


def is_tip(evaluator: Evaluator, leaf: InputLeaf, element: int, entries: Sequence[int]) -> bool:
    """Return whether a kink is a tip: results have no derivative there, and no single element is to blame.

    The bend along a line through the point, f(x + hv) + f(x - hv) - 2 f(x) over h, is |n v| at an edge (a sum of such
    terms where several meet), and a curve like sqrt(v1**2 + v2**2) at a tip. With another direction added to the
    element's own, a sum of absolute values grows by a part proportional to its share, a curve by its square. Where
    values do not even meet at the point, as angles do not at 0, it is a tip as well.

    Args:
        evaluator: the prepared case.
        leaf: what is moved.
        element: where, in it.
        entries: of the vector of results, which have a kink along the element: all have to have a tip.
    """
    rng = np.random.default_rng(SEED)
    own = {one: np.zeros(evaluator.array(one).shape) for one in evaluator.leaves}
    own[leaf].reshape(-1)[element] = 1.0
    other = {one: signed(rng, part.shape) for one, part in own.items()}
    other[leaf].reshape(-1)[element] = 0.0
    at = leaf, element, list(entries)
    if _is_tip_beside(evaluator, at, own, other):
        return True
    # Among all others there may be those that bend the result for themselves: one neighbour along each axis has none.
    place = np.unravel_index(element, own[leaf].shape)
    sizes: tuple[int, ...] = own[leaf].shape
    for axis, size in enumerate(sizes):
        beside = {one: np.zeros_like(part) for one, part in own.items()}
        next_one = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
        beside[leaf][next_one] = 1.0
        if size > 1 and _is_tip_beside(evaluator, at, own, beside):
            return True
    return False


def _is_tip_beside(
    evaluator: Evaluator,
    at: tuple[InputLeaf, int, list[int]],
    own: dict[InputLeaf, ndarray],
    other: dict[InputLeaf, ndarray],
) -> bool:
    """Return whether a point is a tip as far as one other direction beside the element's own shows."""
    leaf, element, entries = at
    array = evaluator.array(leaf)
    # The cube root balances rounding against what is smooth: the optimum of central differences.
    length = float(np.cbrt(resolution_of(array))) * float(scales_of(array)[element])

    def value(share: float, length: float) -> ndarray:
        line = Line(evaluator, {one: own[one] + share * other[one] for one in own})
        return np.array(line.at(length)[entries])

    def bend(share: float) -> ndarray:
        found: ndarray = value(share, length) + value(share, -length) - 2 * value(share, 0.0)
        return found

    with np.errstate(all="ignore"):
        base = value(1.0, 0.0)
        coarse, fine = (abs(value(1.0, part) - base) for part in (length, SMALL * length))
        torn = 2 * fine > coarse
        alone = bend(0.0)
        size = abs(alone)
        tips, is_open = torn, ~torn
        for share in RATIO ** -np.arange(FEW):
            if not is_open.any():
                break
            wide, narrow = (bend(part) + bend(-part) - 2 * alone for part in (share, share / 2))
            is_first = is_open & (abs(wide) < size)
            tips = tips | (is_first & (narrow > TIP_LEAST * size) & (wide > TIP_CURVES * narrow))
            is_open = is_open & ~is_first
    return bool(tips.all())
