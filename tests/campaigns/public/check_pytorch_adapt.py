"""A gradient that is reversed."""

from pytorch_adapt.layers.gradient_reversal import _GradientReversal  # noqa: F401


def SURROGATE_forward(input, weight):
    return -weight * input


SURROGATE = {"forward": SURROGATE_forward}


def cases(rng):
    yield {"input": rng.standard_normal((3, 4)), "weight": 0.7}
