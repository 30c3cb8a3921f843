"""Interpolation of complex images by a sparse matrix, and its adjoint."""

import numpy as np
import torch
from torchkbnufft._autograd.interp import KbSpmatInterpAdjoint, KbSpmatInterpForward  # noqa: F401

MATRIX = np.random.default_rng(0).standard_normal((2, 5, 6)) * (np.random.default_rng(1).uniform(size=(5, 6)) < 0.6)
PAIR = tuple(torch.from_numpy(part).to_sparse() for part in MATRIX)


def cases_KbSpmatInterpForward(rng):
    image = rng.standard_normal((1, 2, 6)) + 1j * rng.standard_normal((1, 2, 6))
    yield {"image": image, "interp_mats": PAIR}


def cases_KbSpmatInterpAdjoint(rng):
    data = rng.standard_normal((1, 2, 5)) + 1j * rng.standard_normal((1, 2, 5))
    yield {"data": data, "interp_mats": PAIR, "grid_size": torch.tensor([6])}
