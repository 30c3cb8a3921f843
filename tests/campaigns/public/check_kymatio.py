"""The modulus of numbers whose last axis is (real, imaginary)."""

from kymatio.backend.torch_backend import ModulusStable  # noqa: F401


def cases(rng):
    for shape in [(3, 2), (2, 4, 2)]:
        yield {"x": rng.standard_normal(shape)}
