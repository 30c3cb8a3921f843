"""Sparse softmaxes: cumulative sums, bisection, losses with labels."""

from entmax.activations import Entmax15Function, SparsemaxFunction  # noqa: F401
from entmax.losses import Entmax15LossFunction, SparsemaxLossFunction  # noqa: F401
from entmax.root_finding import (  # noqa: F401
    BudgetBisectFunction,
    EntmaxBisectFunction,
    NormmaxBisectFunction,
    SparsemaxBisectFunction,
)


def cases(rng):
    for shape in [(3, 5), (2, 7), (4,)]:
        yield {"X": rng.standard_normal(shape), "dim": -1}


def cases_EntmaxBisectFunction(rng):
    for alpha in (1.3, 1.5, 1.9):
        yield {"X": rng.standard_normal((3, 5)), "alpha": alpha}


def cases_BudgetBisectFunction(rng):
    yield {"X": rng.standard_normal((3, 5)), "budget": 2.0}


def cases_SparsemaxLossFunction(rng):
    for shape in [(3, 5), (2, 7)]:
        yield {"X": rng.standard_normal(shape), "target": rng.integers(shape[1], size=shape[0])}


cases_Entmax15LossFunction = cases_SparsemaxLossFunction
