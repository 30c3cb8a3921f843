"""Resampling of one axis as a matrix: nearest, linear and cubic, with Paddle's ways to align the pixels.

What multiplies an axis by a matrix is ``opkit.ops.composed.images``.

Source: Paddle 2.6, interpolate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

#: R. Keys, "Cubic convolution interpolation for digital image processing" (1981), with the usual slope.
_CUBIC = -0.75


def _cubic(t: ndarray) -> list[Any]:
    """Return the weights of the four pixels around a place a share t behind the second."""

    def inner(d: ndarray) -> Any:
        return ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1

    def outer(d: ndarray) -> Any:
        return ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC

    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


@lru_cache(maxsize=64)
def resampling_matrix(
    size: int, target: int, scale: float, rule: str, align_corners: bool, at_zero: bool = False
) -> ndarray:
    """Return the ``(target, size)`` matrix whose rows hold the weights of the axis' pixels.

    Args:
        size: of the axis.
        target: the new size.
        scale: the factor of the size, 0 where the new size was given directly.
        rule: "nearest", "linear" or "bicubic".
        align_corners: the centres of the first and last pixels stay where they are.
        at_zero: linear without align_corners: pixels have their centres at 0, not at one half.
    """
    ratio = 1 / scale if scale > 0 else size / target
    if align_corners:
        ratio = (size - 1) / (target - 1) if target > 1 else 0.0
    ratio = float(np.float32(ratio))  # Source: Paddle 2.6
    places = np.arange(target, dtype=np.float64)
    if rule == "nearest":
        parts = [(np.floor(places * ratio), np.ones(target))]
    elif rule == "linear":
        at_corner = align_corners or at_zero
        source = places * ratio if at_corner else np.maximum((places + 0.5) * ratio - 0.5, 0)
        low = np.floor(source)
        parts = [(low, 1 - (source - low)), (low + 1, source - low)]
    else:
        source = places * ratio if align_corners else (places + 0.5) * ratio - 0.5
        low = np.floor(source)
        parts = [(low + k - 1, weight) for k, weight in enumerate(_cubic(source - low))]
    matrix = np.zeros((target, size))
    for at, weight in parts:
        np.add.at(matrix, (np.arange(target), np.clip(at, 0, size - 1).astype(np.int64)), weight)
    return matrix
