"""Products and solutions with sparse matrices."""

import numpy as np
import torch
from torchsparsegradutils.sparse_matmul import SparseMatMul  # noqa: F401
from torchsparsegradutils.sparse_solve import SparseTriangularSolve  # noqa: F401


def cases_SparseMatMul(rng):
    dense = torch.from_numpy(rng.standard_normal((4, 3)) * (rng.uniform(size=(4, 3)) < 0.6))
    for sparse in (dense.to_sparse_coo(), dense.to_sparse_csr()):
        yield {"A": sparse, "B": rng.standard_normal((3, 2))}


def cases_SparseTriangularSolve(rng):
    lower = torch.from_numpy(np.tril(rng.standard_normal((4, 4))) + 3 * np.eye(4))
    for transpose in (False, True):
        yield {
            "A": lower.to_sparse_csr(),
            "B": rng.standard_normal((4, 2)),
            "upper": False,
            "unitriangular": False,
            "transpose": transpose,
        }
