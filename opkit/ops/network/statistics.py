"""The operator that all normalisations use, on arrays and on values.

It is the gradient of ``x -> h = (x - mean) * r`` with ``r = 1 / sqrt(variance + epsilon)``:
``D(dy) = r * (dy - mean(dy) - h * mean(dy * h))``. The ops that use it are in the modules named for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.basis.arithmetic import add, mul, neg, plus, scalar_mul, sub
from opkit.ops.basis.broadcasting import REDUCE_MEAN_GRAD, broadcast_like, reduce_mean
from opkit.ops.core.define import quiet
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value
from opkit.ops.pointwise.elementwise import square


# ---- the operator, on arrays and on values ---------------------------------------------------------------------------
def wide_of(x: ndarray) -> ndarray:
    """Return halves as singles, in which statistics are computed; other dtypes as they are."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


@quiet
def statistics_of(x: ndarray, axes: tuple[int, ...], epsilon: float) -> tuple[ndarray, ndarray, ndarray]:
    """Return mean, variance and ``1 / sqrt(variance + epsilon)``, axes kept."""
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    variance = np.mean(np.square(centred, out=centred), axis=axes, keepdims=True)
    return mean, variance, 1 / np.sqrt(variance + epsilon)


@quiet
def slope_of(dy: ndarray, h: ndarray, r: ndarray, axes: tuple[int, ...]) -> Any:
    """Return D(dy), on arrays."""
    inner = np.mean(dy * h, axis=axes, keepdims=True)
    dx = dy - dy.mean(axis=axes, keepdims=True)
    dx -= h * inner
    dx *= r
    return dx


def slope_by(dy: Value, h: Value, r: Value, axes: Ints) -> Value:
    """Return D(dy), built of ops."""
    inner = reduce_mean(mul(dy, h), axes, keepdims=True)
    return mul(sub(sub(dy, reduce_mean(dy, axes, keepdims=True)), mul(h, inner)), r)


def slope_by_x(dy: Value, g: Value, h: Value, r: Value, axes: Ints) -> Value:
    """Return the derivative of ``sum(g * D(dy))`` by x.

    With u = dy - mean(dy), v = g - mean(g), a = mean(dy * h), b = mean(g * h):
    ``-r*r * (h * (mean(u * v) - 3 * a * b) + b * u + a * v)``.
    """
    u = sub(dy, reduce_mean(dy, axes, keepdims=True))
    v = sub(g, reduce_mean(g, axes, keepdims=True))
    a = reduce_mean(mul(dy, h), axes, keepdims=True)
    b = reduce_mean(mul(g, h), axes, keepdims=True)
    along_h = mul(h, sub(reduce_mean(mul(u, v), axes, keepdims=True), scalar_mul(mul(a, b), 3.0)))
    return neg(mul(add(along_h, add(mul(b, u), mul(a, v))), square(r)))


def share_of(cotangent: Value, x: Value, axes: Ints) -> Value:
    """Return the cotangent of a mean over the axes, spread: each element's share of it."""
    return perform(REDUCE_MEAN_GRAD, cotangent, x, axis=tuple(axes), keepdims=False)


def _by_statistics(x: Value, mean: Value, r: Value, by_mean: Any, by_r: Any, axes: Ints) -> Value:
    """Return the cotangent of x through its mean and through ``r``, whose slope is ``-h * r * r / n``."""
    total = None if by_mean is None else share_of(by_mean, x, axes)
    if by_r is not None:
        r = broadcast_like(r, x, axes)
        h = mul(sub(x, broadcast_like(mean, x, axes)), r)
        through = neg(mul(mul(h, square(r)), share_of(by_r, x, axes)))
        total = plus(total, through)
    return total


def with_statistics(
    dx: Value | None, x: Value, mean: Value, r: Value, by_mean: Any, by_r: Any, axes: Ints
) -> Value | None:
    """Return dx with what comes through the outputs mean and r added; their cotangents may be None."""
    if by_mean is None and by_r is None:
        return dx
    through = _by_statistics(x, mean, r, by_mean, by_r, axes)
    return plus(dx, through)
