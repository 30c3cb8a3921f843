"""Agreement: whether two ways to the same numbers lead to the same numbers, except for rounding.

The one comparison of two computations of the same; which is right is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.model.numbers import largest, resolution_of
from opkit.checker.model.thresholds import CANCELLED, COARSE_ULPS, REPEAT_ULPS, SUM_ULPS


def is_close(one: ndarray, other: ndarray, ulps: float = REPEAT_ULPS, least: float = 0.0) -> bool:
    """Return whether two arrays are equal, floats up to a few ulps of the largest finite entry; NaN equals NaN.

    ``least`` is the magnitude that those ulps are of at least.
    """
    if one.shape != other.shape:
        return False
    equal = np.asarray(one == other)
    if not equal.all() and all(item.dtype.kind in "fc" for item in (one, other)):
        with np.errstate(all="ignore"):
            slack = ulps * max(map(resolution_of, (one, other))) * max(largest(one), least)
            equal = equal | (np.isnan(one) & np.isnan(other)) | (np.abs(one - other) <= slack)
    return bool(equal.all())


def same(first: Sequence[Any], second: Sequence[Any], ulps: float = REPEAT_ULPS, least: float = 0.0) -> bool:
    """Return whether two lists of results have the same dtypes and are close (None equals None)."""
    return len(first) == len(second) and all(
        one is other
        if one is None or other is None
        else np.asarray(one).dtype == np.asarray(other).dtype
        and is_close(np.asarray(one), np.asarray(other), ulps if np.asarray(one).dtype.kind == "f" else 0.0, least)
        for one, other in zip(first, second)
    )


def agree(one: ndarray | None, other: ndarray | None) -> bool:
    """Return whether two arrays are equal but for sums in another order; None counts as zeros."""
    if one is None or other is None:
        known = other if one is None else one
        return known is None or not known.any()
    return is_close(one, other, SUM_ULPS)


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
    """Return whether arrays agree in most of their entries as far as a coarse dtype can tell (see `differing`)."""
    return not any(are_most(differing(first, second, eps, of)) for first, second in zip(one, other))


def differing(one: ndarray, other: ndarray, eps: float, of: float) -> ndarray:
    """Return which entries differ by more than a coarse dtype explains; none where shapes or kinds are not to compare.

    Args:
        one: expected.
        other: in the coarse dtype.
        eps: its resolution.
        of: magnitude of what they were computed from; what is far below it comes of cancellation.
    """
    if one.dtype.kind != "f" or one.shape != other.shape:
        return np.zeros(one.shape, bool)
    wide, narrow = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(wide)
    scale = float(np.abs(wide).max(initial=CANCELLED * of, where=finite))
    with np.errstate(all="ignore"):
        return ~(np.abs(wide - narrow) <= COARSE_ULPS * eps * scale) & finite


def are_most(off: ndarray) -> bool:
    """Return whether most entries are marked, and more than a single one, which may come of cancellation."""
    count = np.count_nonzero(off)
    return bool(count > 1 and count > off.size / 2)
