"""Further kinds of dropout: whole slices, and what keeps the mean and variance of SELU's outputs."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value


def drop_along(x: Value, axes: Ints, rate: float) -> Value:
    """Return ``x`` with slices set to 0 with probability ``rate``; the choice varies along these axes only."""
    sizes = [size if i in axes else 1 for i, size in enumerate(x.shape)]
    return ops.mul(x, ops.cast_like(ops.greater_equal(ops.uniform(sizes, 0.0, 1.0, "float32"), rate), x))


def alpha_dropout(x: Value, rate: float) -> Value:
    """Return ``x`` with elements set to SELU's lower limit, shifted and scaled so that mean and variance stay.

    Source: Klambauer et al. 2017, "Self-normalizing neural networks".
    """
    limit = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
    scale = ((1 - rate) * (1 + rate * limit**2)) ** -0.5
    keep = ops.cast_like(ops.random_mask_like(x, rate), x)
    mixed = ops.add(ops.mul(x, keep), ops.mul(ops.sub(1.0, keep), limit))
    return ops.add(ops.mul(mixed, scale), -scale * limit * rate)
