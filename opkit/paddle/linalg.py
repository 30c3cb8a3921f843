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
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from opkit.paddle.tensor.linalg import bmm, dist, dot, matmul, matrix_power, mm, mv, norm, outer
from opkit.shim.missing import guard

__all__ = [
    "bmm",
    "cholesky",
    "cond",
    "det",
    "dist",
    "dot",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_power",
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

__getattr__ = guard(globals())
