"""Covariances with a distance as an argument, a quadratic form of symmetric matrices, an approximated normal."""

import numpy as np
import torch
from gpytorch.functions._log_normal_cdf import LogNormalCDF  # noqa: F401
from gpytorch.functions.matern_covariance import MaternCovariance  # noqa: F401
from gpytorch.functions.rbf_covariance import RBFCovariance  # noqa: F401
from gpytorch.variational.large_batch_variational_strategy import QuadFormDiagonal  # noqa: F401
from gpytorch.variational.natural_variational_distribution import _NaturalToMuVarSqrt  # noqa: F401


def squared(x1, x2):
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).pow(2).sum(-1)


def distance(x1, x2):
    return squared(x1, x2).sqrt()


def points(rng):
    return {
        "x1": torch.from_numpy(rng.standard_normal((4, 2))),
        "x2": torch.from_numpy(rng.standard_normal((3, 2))),
        "lengthscale": torch.from_numpy(rng.uniform(0.5, 2, (1, 1))).requires_grad_(),
    }


def cases_RBFCovariance(rng):
    yield {**points(rng), "sq_dist_func": squared}


def cases_MaternCovariance(rng):
    for nu in (0.5, 1.5, 2.5):
        yield {**points(rng), "nu": nu, "dist_func": distance}


def cases_LogNormalCDF(rng):
    yield {"z": 2 * rng.standard_normal((4, 5))}


def positive(rng, n):
    root = rng.standard_normal((n, n))
    return root @ root.T + np.eye(n)


def cases_QuadFormDiagonal(rng):
    for n, m in [(4, 3), (3, 5)]:
        yield {"matrix": positive(rng, n), "rhs": rng.standard_normal((n, m))}


def cases__NaturalToMuVarSqrt(rng):
    yield {"nat_mean": rng.standard_normal(3), "nat_covar": -0.5 * positive(rng, 3)}
