"""Further kinds of dropout: whole slices, and what keeps the mean and variance of SELU's outputs."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value


def drop_along(x: Value, axes: Ints, rate: float) -> Value:
    """Return ``x`` with slices set to 0 with probability ``rate``; the choice varies along these axes only."""
    sizes = [size if i in axes else 1 for i, size in enumerate(x.shape)]
    return ops.mul(x, ops.cast_like(ops.greater_equal(ops.uniform(sizes, 0.0, 1.0, "float32"), rate), x))
