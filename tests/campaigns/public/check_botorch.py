"""Roundings and one-hot vectors that hand the gradient through."""

from botorch.utils.rounding import OneHotArgmaxSTE, RoundSTE  # noqa: F401

SURROGATE = {"forward": lambda X: 1 * X}


def cases(rng):
    for shape in [(3, 4), (2, 2, 3)]:
        yield {"X": 2 * rng.standard_normal(shape)}
