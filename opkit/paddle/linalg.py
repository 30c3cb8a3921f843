"""``paddle.linalg``: matrix products, norms, factors, systems."""

from opkit.paddle.tensor.decomposition import (
    cholesky,
    cond,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    lu,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from opkit.paddle.tensor.linalg import bmm, dist, dot, matmul, mm, mv, norm, outer
from opkit.paddle.tensor.products import matrix_power
from opkit.paddle.tensor.stat import corrcoef, cov
from opkit.shim.missing import guard

__all__ = [
    "bmm",
    "cholesky",
    "cond",
    "corrcoef",
    "cov",
    "det",
    "dist",
    "dot",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "matrix_power",
    "matrix_rank",
    "mm",
    "mv",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "triangular_solve",
]

__getattr__ = guard(__name__, globals())
