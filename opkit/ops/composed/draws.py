"""Numbers drawn from distributions by turning evenly drawn ones: exponential, Cauchy, geometric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def _even(shape: Sequence[int]) -> Value:
    """Return float64 numbers in (0, 1], whose logarithms are finite."""
    return ops.sub(1.0, ops.uniform(list(shape), 0.0, 1.0, "float64"))


def exponential(shape: Sequence[int], rate: float) -> Value:
    """Return numbers of an exponential distribution."""
    return ops.div(ops.neg(ops.log(_even(shape))), rate)


def cauchy(shape: Sequence[int], place: Value | float, width: Value | float) -> Value:
    """Return numbers of a Cauchy distribution around ``place``."""
    return ops.add(ops.mul(ops.tan(ops.mul(ops.sub(_even(shape), 0.5), math.pi)), width), place)


def geometric(shape: Sequence[int], probability: Value | float) -> Value:
    """Return logarithms that, rounded up, count trials until the first success."""
    if isinstance(probability, (int, float)):
        return ops.div(ops.log(_even(shape)), math.log1p(-probability))
    return ops.div(ops.log(_even(shape)), ops.log1p(ops.neg(probability)))
