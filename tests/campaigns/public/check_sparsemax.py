"""Projections onto the simplex."""

from sparsemax.sparsemax import SparsemaxFunction  # noqa: F401


def cases(rng):
    for shape, dim in [((3, 5), -1), ((2, 3, 4), 1)]:
        yield {"input": rng.standard_normal(shape), "dim": dim}
