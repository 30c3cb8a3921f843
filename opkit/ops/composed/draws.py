"""Numbers drawn from distributions by turning evenly drawn ones: exponential, Cauchy, geometric."""

from __future__ import annotations

import math

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value


def _even(shape: Ints) -> Value:
    """Return float64 numbers in (0, 1], whose logarithms are finite."""
    return ops.sub(1.0, ops.uniform(list(shape), 0.0, 1.0, "float64"))


def exponential(shape: Ints, rate: float) -> Value:
    """Return numbers of an exponential distribution."""
    return ops.div(ops.neg(ops.log(_even(shape))), rate)


def cauchy(shape: Ints, place: Value | float, width: Value | float) -> Value:
    """Return numbers of a Cauchy distribution around ``place``."""
    return ops.add(ops.mul(ops.tan(ops.mul(ops.sub(_even(shape), 0.5), math.pi)), width), place)


def geometric(shape: Ints, probability: Value | float) -> Value:
    """Return logarithms that, rounded up, count trials until the first success."""
    if isinstance(probability, (int, float)):
        return ops.div(ops.log(_even(shape)), math.log1p(-probability))
    return ops.div(ops.log(_even(shape)), ops.log1p(ops.neg(probability)))
