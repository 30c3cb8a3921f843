"""A gradient that is doubled."""

from geomloss._legacy.kernel_samples import DoubleGrad  # noqa: F401


def SURROGATE_forward(input):
    return 2 * input


SURROGATE = {"forward": SURROGATE_forward}


def cases(rng):
    yield {"input": rng.standard_normal((3, 4))}
