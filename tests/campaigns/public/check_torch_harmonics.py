"""The identity, laid out anew."""

from torch_harmonics.utils import _EnsureContiguous  # noqa: F401


def cases(rng):
    yield {"x": rng.standard_normal((2, 3, 4))}
