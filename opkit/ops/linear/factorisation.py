"""Factors of matrices: Cholesky, QR, eigenvalues, singular values; of one matrix or a stack of them.

Inverses and linear systems are in ``opkit.ops.linear.inversion``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from opkit.errors import AutogradError, UsageError
from opkit.ir import TensorDesc
from opkit.ops.arrange.joining import concat
from opkit.ops.arrange.matrix import tril
from opkit.ops.arrange.shape import expand_dims
from opkit.ops.arrange.slicing import slice as part_of
from opkit.ops.basis.arithmetic import add, div, mul, neg, plus, scalar_mul, sub
from opkit.ops.core.define import define, define_map
from opkit.ops.core.inference import check_floating, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value, shape_of
from opkit.ops.linear.inversion import ConvergenceError, check_square, decomposed, solve, square, transposed
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.compare import equal, where


class NotPositiveError(UsageError, RuntimeError):
    """A matrix is not positive definite."""


def _matrices(op: str, descs: Descs) -> tuple[tuple[int, ...], int, int]:
    check_floating(op, descs)
    if descs[0].ndim < 2:
        raise shape_error(op, descs, "it takes matrices or stacks of them")
    return descs[0].shape[:-2], descs[0].shape[-2], descs[0].shape[-1]


def _least(rows: int, columns: int) -> int:
    return -1 if -1 in (rows, columns) else min(rows, columns)


# ---- Cholesky --------------------------------------------------------------------------------------------------------
def _lower_half(x: Value) -> Value:
    """Return the lower triangle with half the diagonal."""
    return scalar_mul(add(tril(x), tril(x, -1)), 0.5)


def _symmetric(x: Value) -> Value:
    return scalar_mul(add(x, transposed(x)), 0.5)


def _cholesky_rule(applied: Any, dout: Value) -> Value:
    # I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, equation 10
    factor_t = transposed(applied.outputs[0])
    inner = _lower_half(matmul(factor_t, dout))
    return _symmetric(transposed(solve(factor_t, transposed(solve(factor_t, inner)))))


CHOLESKY = define_map(
    "cholesky",
    lambda x: decomposed("cholesky", NotPositiveError, np.linalg.cholesky, x),
    _cholesky_rule,
    infer=square("cholesky"),
    reads="y",
)


def cholesky(x: Value) -> Value:
    """Return the lower triangular factors of symmetric positive definite matrices, whose lower triangles are read.

    Raises:
        UsageError: one is not positive definite (it is also a RuntimeError).
    """
    return perform(CHOLESKY, x)


# ---- eigenvalues -----------------------------------------------------------------------------------------------------
def _eigh(x: ndarray, lower: bool) -> tuple[Any, Any]:
    values, vectors = decomposed("eigh", ConvergenceError, np.linalg.eigh, x, "L" if lower else "U")
    return values, vectors


def _infer_eigh(descs: Descs, attrs: Attrs) -> Descs:
    check_square("eigh", descs)
    return [TensorDesc(descs[0].shape[:-1], descs[0].dtype), descs[0]]


def _inverse_gaps(values: Value) -> Value:
    """Return ``1 / (values[j] - values[i])``, 0 where the two are equal."""
    gaps = sub(expand_dims(values, -2), expand_dims(values, -1))
    return _reciprocal(gaps)


def _reciprocal(x: Value) -> Value:
    is_zero = equal(x, 0)
    return where(is_zero, 0.0, div(1.0, where(is_zero, 1.0, x)))


def _eigh_rule(applied: Any, douts: Values) -> Values:
    values, vectors = applied.outputs
    turned = transposed(vectors)
    total = None
    if douts[0] is not None:
        total = matmul(mul(vectors, expand_dims(douts[0], -2)), turned)
    if douts[1] is not None:
        inner = mul(_inverse_gaps(values), matmul(turned, douts[1]))
        part = matmul(matmul(vectors, inner), turned)
        total = plus(total, part)
    return (None if total is None else _symmetric(total),)


EIGH = define(
    "eigh", "x", "values vectors", _eigh, infer=_infer_eigh, attrs="lower:bool", grad=_eigh_rule, reads="values vectors"
)


def eigh(x: Value, lower: bool = True) -> tuple[Value, Value]:
    """Return eigenvalues in ascending order, and the eigenvectors as columns, of symmetric matrices.

    Args:
        x: ``(..., n, n)``; one triangle is read, its gradient is symmetric.
        lower: which.
    """
    values, vectors = perform(EIGH, x, lower=bool(lower))
    return values, vectors


def _eigenvalues(x: ndarray) -> tuple[Any, Any]:
    values, vectors = decomposed("eigenvalues", ConvergenceError, np.linalg.eig, x)
    kind = np.complex64 if x.dtype == np.float32 else np.complex128
    return values.astype(kind), vectors.astype(kind)


def _infer_eigenvalues(descs: Descs, attrs: Attrs) -> Descs:
    check_square("eigenvalues", descs)
    kind = "complex64" if descs[0].dtype == "float32" else "complex128"
    return [TensorDesc(descs[0].shape[:-1], kind), TensorDesc(descs[0].shape, kind)]


def _no_rule(applied: Any, douts: Values) -> NoReturn:
    raise AutogradError(
        f"op {applied.opdef.name!r} has no gradient in opkit", help="detach() its input, or use eigh on symmetric ones"
    )


EIGENVALUES = define("eigenvalues", "x", "values vectors", _eigenvalues, infer=_infer_eigenvalues, grad=_no_rule)


def eigenvalues(x: Value) -> tuple[Value, Value]:
    """Return the complex eigenvalues and eigenvectors of square matrices; a gradient of them is an error."""
    values, vectors = perform(EIGENVALUES, x)
    return values, vectors


# ---- QR --------------------------------------------------------------------------------------------------------------
def _qr(x: ndarray) -> tuple[Any, Any]:
    q, r = decomposed("qr", ConvergenceError, np.linalg.qr, x)
    return q, r


def _infer_qr(descs: Descs, attrs: Attrs) -> Descs:
    lead, rows, columns = _matrices("qr", descs)
    least = _least(rows, columns)
    return [TensorDesc((*lead, rows, least), descs[0].dtype), TensorDesc((*lead, least, columns), descs[0].dtype)]


def _qr_rule(applied: Any, douts: Values) -> Values:
    # M. Seeger et al., "Auto-differentiating linear algebra", arXiv:1710.08717, section 4.2 (as many rows as columns)
    q, r = applied.outputs
    inner = None
    if douts[1] is not None:
        inner = matmul(r, douts[1], False, True)
    if douts[0] is not None:
        part = matmul(douts[0], q, True, False)
        inner = neg(part) if inner is None else sub(inner, part)
    if inner is None:
        return (None,)
    total = matmul(q, add(tril(inner), transposed(tril(inner, -1))))
    if douts[0] is not None:
        total = add(total, douts[0])
    return (transposed(solve(r, transposed(total))),)


QR = define("qr", "x", "q r", _qr, infer=_infer_qr, grad=_qr_rule, reads="q r")


def qr(x: Value) -> tuple[Value, Value]:
    """Return orthonormal columns q and an upper triangle r with ``x = q @ r``, as many columns as x's least side."""
    rows, columns = shape_of(x)[-2:]
    if -1 not in (rows, columns) and rows < columns:
        axis = len(shape_of(x)) - 1
        q, r = qr(part_of(x, [axis], [0], [rows]))
        rest = matmul(q, part_of(x, [axis], [rows], [columns]), True, False)
        return q, concat([r, rest], -1)
    q, r = perform(QR, x)
    return q, r


# ---- singular values -------------------------------------------------------------------------------------------------
def _svd(x: ndarray) -> tuple[Any, Any, Any]:
    u, s, vh = decomposed("svd", ConvergenceError, np.linalg.svd, x, False)
    return u, s, vh


def _infer_svd(descs: Descs, attrs: Attrs) -> Descs:
    lead, rows, columns = _matrices("svd", descs)
    least, kind = _least(rows, columns), descs[0].dtype
    return [
        TensorDesc((*lead, rows, least), kind),
        TensorDesc((*lead, least), kind),
        TensorDesc((*lead, least, columns), kind),
    ]


def _turn(basis: Value, dbasis: Value, gaps: Value) -> Value:
    inner = mul(gaps, matmul(basis, dbasis, True, False))
    return add(inner, transposed(inner))


def _svd_rule(applied: Any, douts: Values) -> Values:
    # Seeger et al., section 4.3; s[j]**2 - s[i]**2 below the line
    u, s, vh = applied.outputs
    du, ds, dvh = douts
    row, column, v = expand_dims(s, -2), expand_dims(s, -1), transposed(vh)
    gaps = _inverse_gaps(mul(s, s))
    total = None
    if ds is not None:
        total = matmul(mul(u, expand_dims(ds, -2)), vh)
    if du is not None:
        part = matmul(matmul(u, mul(_turn(u, du, gaps), row)), vh)
        outside = matmul(div(sub(du, matmul(u, matmul(u, du, True, False))), row), vh)
        total = plus(total, add(part, outside))
    if dvh is not None:
        dv = transposed(dvh)
        part = matmul(matmul(u, mul(column, _turn(v, dv, gaps))), vh)
        outside = matmul(u, transposed(div(sub(dv, matmul(v, matmul(vh, dv))), row)))
        total = plus(total, add(part, outside))
    return (total,)


SVD = define("svd", "x", "u s vh", _svd, infer=_infer_svd, grad=_svd_rule, reads="u s vh")


def svd(x: Value) -> tuple[Value, Value, Value]:
    """Return u, s and vh with ``x = u * s @ vh``: s descending, as many as x's least side.

    The gradient needs distinct singular values, and those of u and vh positive ones.
    """
    u, s, vh = perform(SVD, x)
    return u, s, vh


# ---- rank ------------------------------------------------------------------------------------------------------------
