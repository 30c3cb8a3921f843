"""The inverse of a monotone function and an integral, both of functions that are arguments."""

import torch
from zuko.utils import Bisection, GaussLegendre  # noqa: F401


def cases_Bisection(rng):
    for shape in [(4,), (2, 3)]:
        yield {
            "f": lambda x: x + x**3 / 3,
            "y": torch.from_numpy(rng.uniform(-2, 2, shape)).requires_grad_(),
            "a": torch.full(shape, -4.0).double(),
            "b": torch.full(shape, 4.0).double(),
            "n": 60,
        }


def cases_GaussLegendre(rng):
    for shape in [(4,), (2, 3)]:
        yield {"f": lambda x: x**3 - 2 * x, "a": rng.uniform(-2, 0, shape), "b": rng.uniform(0, 2, shape), "n": 4}
