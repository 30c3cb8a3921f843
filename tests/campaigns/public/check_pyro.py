"""A logarithm whose gradient is bounded, and hard samples whose gradient is that of soft ones."""

from pyro.distributions.relaxed_straight_through import QuantizeBernoulli, QuantizeCategorical  # noqa: F401
from pyro.ops.special import _SafeLog  # noqa: F401

SURROGATE_QuantizeCategorical = SURROGATE_QuantizeBernoulli = {"forward": lambda soft_value: 1 * soft_value}


def cases(rng):
    yield {"soft_value": rng.uniform(0.05, 0.95, (3, 5))}


def cases__SafeLog(rng):
    yield {"x": rng.uniform(0.1, 3, (3, 5))}
