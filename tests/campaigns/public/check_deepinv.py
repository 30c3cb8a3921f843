"""Splines with learnt knots, a denoiser, and least squares by implicit differentiation."""

import numpy as np
import torch
from deepinv.models.deal import LinearSplineDerivativeFunc, LinearSplineFunc, QuadraticSplineFunc  # noqa: F401
from deepinv.models.mmse import MMSEFunction  # noqa: F401
from deepinv.optim.linear.least_squares import LeastSquaresSolver  # noqa: F401

ALLOW_MMSEFunction = {"GC141": "the option dtype says float64"}


class Diagonal:
    """A linear operator."""

    def __init__(self, scales):
        self.scales = scales

    def A(self, x, **_):
        return self.scales.to(x.dtype) * x

    A_adjoint = A

    def A_A_adjoint(self, x, **_):
        return self.scales.to(x.dtype) ** 2 * x

    A_adjoint_A = A_A_adjoint


def cases(rng):
    yield {
        "x": rng.uniform(-0.9, 0.9, (2, 3, 1, 4, 1)),
        "coefficients": rng.standard_normal((3, 6)),
        "x_min": torch.tensor(-1.0).double(),
        "x_max": torch.tensor(1.0).double(),
        "num_knots": 6,
        "zero_knot_indexes": 6 * torch.arange(3),
    }


def cases_MMSEFunction(rng):
    yield {
        "x": rng.standard_normal((2, 1, 2, 2)),
        "sigma": rng.uniform(0.5, 2, (2, 1)),
        "dataloader": torch.from_numpy(rng.standard_normal((5, 1, 2, 2))),
        "device": "cpu",
        "dtype": torch.float64,
        "verbose": False,
    }


def cases_LeastSquaresSolver(rng):
    scales = torch.from_numpy(rng.uniform(0.5, 2, (1, 1, 2, 3)))
    yield {
        "physics": Diagonal(scales),
        "y": rng.standard_normal((2, 1, 2, 3)),
        "z": rng.standard_normal((2, 1, 2, 3)),
        "init": None,
        "gamma": np.array([0.7, 1.3]),
        "trigger": None,
        "extra_kwargs": {"solver": "CG", "max_iter": 200, "tol": 1e-14},
    }
