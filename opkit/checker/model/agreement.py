"""Agreement: whether two ways to the same numbers lead to the same numbers, except for rounding.

For checks that subjects bring along; which is right is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from opkit.checker.model.numbers import largest, resolution_of
from opkit.checker.model.thresholds import CANCELLED, COARSE_ULPS, MOSTLY, SUM_ULPS


def agree(one: ndarray | None, other: ndarray | None) -> bool:
    """Return whether two arrays are equal, floats up to ulps of the largest entry; None counts as zeros."""
    if one is None or other is None:
        known = other if one is None else one
        return known is None or not known.any()
    if one.shape != other.shape:
        return False
    if any(item.dtype.kind not in "fc" for item in (one, other)):
        return bool(np.array_equal(one, other))
    eps = max(map(resolution_of, (one, other)))
    wide, narrow = one.astype(np.float64), other.astype(np.float64)
    scale = largest(wide)
    same = (wide == narrow) | (np.isnan(wide) & np.isnan(narrow))
    with np.errstate(all="ignore"):
        return bool((same | (np.abs(wide - narrow) <= SUM_ULPS * eps * scale)).all())


def sums_agree(one: Sequence[float], other: Sequence[float], eps: float) -> bool:
    """Return whether two sums are equal up to ulps of their terms; those that are not finite are not compared.

    Args:
        one: the terms of the first.
        other: those of the second.
        eps: resolution of the terms.
    """
    size = sum(map(abs, one)) + sum(map(abs, other))
    if not np.isfinite(size):
        return True
    return abs(sum(one) - sum(other)) <= SUM_ULPS * eps * size


def mostly_agree(one: Sequence[ndarray], other: Sequence[ndarray], eps: float, of: float) -> bool:
    """Return whether arrays agree in most of their entries as far as a coarse dtype can tell.

    Args:
        one: expected.
        other: in the coarse dtype.
        eps: its resolution.
        of: magnitude of what they were computed from; what is far below it comes of cancellation.
    """
    for first, second in zip(one, other):
        if first.dtype.kind != "f" or not first.size or first.shape != second.shape:
            continue
        wide, narrow = first.astype(np.float64), second.astype(np.float64)
        finite = np.isfinite(wide)
        scale = float(np.abs(wide).max(initial=CANCELLED * of, where=finite))
        with np.errstate(all="ignore"):
            near = (np.abs(wide - narrow) <= COARSE_ULPS * eps * scale) | ~finite
        off = near.size - np.count_nonzero(near)
        if off > 1 and off > (1 - MOSTLY) * near.size:  # a single entry may come of cancellation
            return False
    return True
