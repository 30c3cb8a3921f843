"""Numbers: what the numbers of an array are like: how large they are, and how finely its dtype tells them apart.

Single arrays only; what a size means for a derivative is decided elsewhere.

Middle: the median of a few numbers.

numpy's own imports masked arrays when it is first called, which takes a tenth of a whole check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.thresholds import MAGNITUDES
from opkit.ir import Shape

_SIGNS = np.array([-1.0, 1.0])


def widened(array: object) -> ndarray:
    """Return numbers as an array of float64."""
    return np.asarray(array, dtype=np.float64)


def largest(array: ndarray) -> float:
    """Return the largest magnitude of the finite elements, 0 where there is none."""
    return float(np.abs(array).max(initial=0.0, where=np.isfinite(array)))


def typical(array: ndarray) -> float:
    """Return the root mean square, 0 where there is no element."""
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.size else 0.0


def resolution_of(array: ndarray) -> float:
    """Return the relative distance between neighbouring numbers of a float array's dtype."""
    return float(np.finfo(array.dtype).eps)


def is_square(array: ndarray) -> bool:
    """Return whether an array holds square matrices."""
    return array.ndim > 1 and array.shape[-1] == array.shape[-2]


def place_of(index: Any, shape: Shape) -> Shape:
    """Return the place in an array of a shape that an index into its flat elements means."""
    return tuple(int(i) for i in np.unravel_index(int(index), shape))


def signed(rng: Generator, shape: Shape | int, magnitudes: tuple[float, float] = MAGNITUDES) -> ndarray:
    """Return random signs times magnitudes, so that along such a direction nothing is invisible and no swap cancels."""
    return np.asarray(_SIGNS[rng.integers(2, size=shape)] * rng.uniform(*magnitudes, shape))


def median(values: Sequence[float] | ndarray) -> float:
    """Return what ``np.median`` returns for numbers (n,), n > 0: NaN where one is NaN."""
    ordered = np.sort(widened(values), axis=None)
    if np.isnan(ordered[-1]):
        return float("nan")
    half = ordered.size // 2
    return float(ordered[half] if ordered.size % 2 else (ordered[half - 1] + ordered[half]) / 2.0)
