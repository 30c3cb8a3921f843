"""Eigenvalues and vectors of symmetric matrices."""

from xitorch._impls.linalg.symeig import degen_symeig  # noqa: F401


def cases(rng):
    for shape in [(3, 3), (2, 4, 4)]:
        root = rng.standard_normal(shape)
        yield {"A": root + root.swapaxes(-1, -2)}
