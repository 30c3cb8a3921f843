"""A root of matrices and a value whose gradients are given, both inside a class's constructor."""

import numpy as np
import torch
from ot.backend import TorchBackend

MatrixSqrtFunction, ValFunction = TorchBackend().MatrixSqrtFunction, TorchBackend().ValFunction


def SURROGATE_ValFunction_forward(val, grads, *inputs):
    return sum((grad * item).sum() for grad, item in zip(grads, inputs))


SURROGATE_ValFunction = {"forward": SURROGATE_ValFunction_forward}


def cases_MatrixSqrtFunction(rng):
    for n in (3, 2):
        root = rng.standard_normal((n, n))
        yield {"a": root @ root.T + np.eye(n)}


def cases_ValFunction(rng):
    yield {
        "val": torch.tensor(1.5).double(),
        "grads": [torch.from_numpy(rng.standard_normal(3)), torch.from_numpy(rng.standard_normal((2, 2)))],
        "inputs": [rng.standard_normal(3), rng.standard_normal((2, 2))],
    }
