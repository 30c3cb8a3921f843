"""Covariances and roots of matrices, one bit, and gradients that are drawn."""

import numpy as np
import torch
from pytorchcv.models.isqrtcovresnet import CovPool, NewtonSchulzSqrt, Triuvec  # noqa: F401
from pytorchcv.models.revnet import ReversibleBlockFunction  # noqa: F401
from pytorchcv.models.shakedropresnet_cifar import ShakeDrop  # noqa: F401
from pytorchcv.models.shakeshakeresnet_cifar import ShakeShake  # noqa: F401
from pytorchcv.models.wrn1bit_cifar import Binarize  # noqa: F401

ALLOW_Triuvec = {"GC131": "backward refuses transposed matrices"}
SURROGATE_Binarize = {"forward": lambda x: 1 * x}


def cases(rng):
    for shape in [(2, 3, 2, 2), (1, 2, 3, 1)]:
        yield {"x": rng.standard_normal(shape)}


def cases_NewtonSchulzSqrt(rng):
    for n in (2, 5):
        root = rng.standard_normal((2, 3, 3))
        yield {"x": root @ root.transpose(0, 2, 1) + np.eye(3), "n": n}


def cases_Triuvec(rng):
    yield {"x": rng.standard_normal((2, 3, 3))}


def cases_ShakeDrop(rng):
    yield {"x": rng.standard_normal((2, 3, 2, 2)), "b": torch.tensor([1.0, 0.0]).double().view(2, 1, 1, 1), "alpha": torch.full((2, 1, 1, 1), 0.3).double()}


def cases_ShakeShake(rng):
    yield {"x1": rng.standard_normal((2, 3, 2, 2)), "x2": rng.standard_normal((2, 3, 2, 2)), "alpha": torch.full((2, 1, 1, 1), 0.3).double()}


def cases_ReversibleBlockFunction(rng):
    torch.manual_seed(0)
    fm, gm = (torch.nn.Linear(2, 2).double() for _ in range(2))
    yield {"x": rng.standard_normal((3, 4)), "fm": fm, "gm": gm, "params": [*fm.parameters(), *gm.parameters()]}
