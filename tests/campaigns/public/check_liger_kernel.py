"""Squares of a rectifier by Triton."""

import numpy as np
import torch
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction  # noqa: F401


def REFERENCE(X):
    return torch.relu(X) ** 2


def cases(rng):
    yield {"X": rng.standard_normal((3, 5)).astype(np.float32)}
