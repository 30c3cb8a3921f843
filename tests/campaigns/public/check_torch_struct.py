"""Sums in semirings, whose gradients are sparse or drawn."""

import torch
from torch_struct.semirings.sample import _SampledLogSumExp  # noqa: F401
from torch_struct.semirings.sparse_max import _SimplexProject, _SparseMaxGrad, project_simplex, sparsemax_grad  # noqa: F401


def cases(rng):
    yield {"input": rng.standard_normal((3, 4)), "dim": -1}


def cases__SparseMaxGrad(rng):
    yield {"w_star": rng.dirichlet([1, 1, 1, 1], 3), "dim": torch.tensor(-1)}


def SURROGATE__SparseMaxGrad_forward(w_star, dim):
    return w_star - w_star.mean(dim.item(), keepdim=True)


SURROGATE__SparseMaxGrad = {"forward": SURROGATE__SparseMaxGrad_forward}
