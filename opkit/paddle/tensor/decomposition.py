"""``paddle.linalg``'s inverses, factors and systems."""

from __future__ import annotations

import math
from typing import Any

from opkit.errors import ShapeError, UnsupportedError, UsageError
from opkit.ops.composed import matrices
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value, needed

__all__ = [
    "cholesky",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "inverse",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "triangular_solve",
]


def _square(function: str, x: Any) -> Any:
    shape = list(need_value(function, "x", x).shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{function} takes square matrices, got {shape}")
    return x


def _turned(x: Any) -> Any:
    return ops.swapaxes(x, -1, -2)


# ---- inverses and determinants ---------------------------------------------------------------------------------------
def inv(x: Any, name: Name = None) -> Any:
    """Return the inverses of square matrices."""
    return ops.inverse(_square("inverse", x))


def inverse(x: Any, name: Name = None) -> Any:
    """Return the inverses of square matrices."""
    return inv(x)


def pinv(x: Any, rcond: float = 1e-15, hermitian: bool = False, name: Name = None) -> Any:
    """Return the Moore-Penrose inverses of matrices."""
    return ops.pseudo_inverse(needed(x), float(rcond), hermitian)


def det(x: Any, name: Name = None) -> Any:
    """Return the determinants of square matrices."""
    return ops.determinant(_square("det", x))


def slogdet(x: Any, name: Name = None) -> Any:
    """Return the signs of determinants and the logarithms of their sizes, stacked along a new first axis."""
    return ops.stack(list(ops.log_determinant(_square("slogdet", x))), 0)


# ---- factors ---------------------------------------------------------------------------------------------------------
def cholesky(x: Any, upper: bool = False, name: Name = None) -> Any:
    """Return the triangular factors of symmetric positive definite matrices."""
    _square("cholesky", x)
    return _turned(ops.cholesky(_turned(x))) if upper else ops.cholesky(x)


def qr(x: Any, mode: str = "reduced", name: Name = None) -> Any:
    """Return orthonormal columns q and an upper triangle r; with ``mode="r"`` r alone."""
    if mode not in ("reduced", "complete", "r"):
        raise UsageError(f"qr: mode is 'reduced', 'complete' or 'r', got {mode!r}")
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        raise UnsupportedError("qr: opkit has no mode='complete' for matrices with more rows than columns")
    q, r = ops.qr(needed(x))
    return r if mode == "r" else (q, r)


def svd(x: Any, full_matrices: bool = False, name: Name = None) -> Any:
    """Return u, the singular values in descending order, and vh, with ``x = u @ diag(s) @ vh``."""
    shape = needed(x).shape
    if full_matrices and shape[-1] != shape[-2]:
        raise UnsupportedError("svd: opkit has no full_matrices=True for matrices that are not square")
    return ops.svd(x)


def _lower(uplo: str) -> bool:
    if uplo not in ("L", "U"):
        raise UsageError(f"UPLO is 'L' or 'U', got {uplo!r}")
    return uplo == "L"


def eigh(x: Any, UPLO: str = "L", name: Name = None) -> Any:
    """Return the eigenvalues in ascending order and the eigenvectors of symmetric matrices."""
    return ops.eigh(_square("eigh", x), _lower(UPLO))


def eigvalsh(x: Any, UPLO: str = "L", name: Name = None) -> Any:
    """Return the eigenvalues of symmetric matrices in ascending order."""
    return ops.eigh(_square("eigvalsh", x), _lower(UPLO))[0]


def eig(x: Any, name: Name = None) -> Any:
    """Return the complex eigenvalues and eigenvectors of square matrices; they have no gradient."""
    return ops.eigenvalues(_square("eig", x))


def eigvals(x: Any, name: Name = None) -> Any:
    """Return the complex eigenvalues of square matrices; they have no gradient."""
    return ops.eigenvalues(_square("eigvals", x))[0]


# ---- systems ---------------------------------------------------------------------------------------------------------
def solve(x: Any, y: Any, name: Name = None) -> Any:
    """Return z with ``x @ z = y``."""
    return ops.solve(_square("solve", x), needed(y))


def triangular_solve(
    x: Any, y: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, name: Name = None
) -> Any:
    """Return z with ``x @ z = y``, of x one triangle being read.

    Args:
        x: ``(..., n, n)``.
        y: ``(..., n, k)``.
        upper: which triangle.
        transpose: solve with x transposed.
        unitriangular: the diagonal counts as ones.
        name: ignored.
    """
    _square("triangular_solve", x)
    needed(y)
    return matrices.triangular_solve(x, y, upper=upper, transpose=transpose, unit=unitriangular)


def cond(x: Any, p: Any = None, name: Name = None) -> Any:
    """Return the condition numbers of matrices in a norm: None, 2, -2, 'fro', 'nuc', 1, -1, inf or -inf."""
    needed(x)
    if p not in (None, 2, -2, "fro", "nuc", 1, -1, math.inf, -math.inf):
        raise UsageError(f"cond: p is None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {p!r}")
    return matrices.condition_number(x if p in (None, 2, -2) else _square("cond", x), p)
