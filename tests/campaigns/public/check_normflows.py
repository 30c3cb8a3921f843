"""A determinant of a residual flow, whose gradient is that of the first row's weight."""

import torch
from normflows.flows.residual import MemoryEfficientLogDetEstimator  # noqa: F401


def estimate(g, x, n_power_series, vareps, coeff_fn, training):
    (pulled,) = torch.autograd.grad(g, x, vareps, create_graph=training)
    return (pulled * vareps).sum(1)


def cases(rng):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)).double()
    yield {
        "estimator_fn": estimate,
        "gnet": net,
        "x": rng.standard_normal((2, 3)),
        "n_power_series": 1,
        "vareps": torch.from_numpy(rng.standard_normal((2, 3))),
        "coeff_fn": None,
        "training": True,
        "g_params": list(net.parameters()),
    }
