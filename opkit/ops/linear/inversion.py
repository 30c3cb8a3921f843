"""Inverses, determinants and linear systems, of one matrix or a stack of them.

Factors of matrices (Cholesky, QR, eigenvalues, singular values) are in ``opkit.ops.linear.factorisation``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import OpkitError, ShapeError, UsageError
from opkit.ir import TensorDesc
from opkit.ops.arrange.shape import expand_dims, squeeze, swapaxes
from opkit.ops.basis.arithmetic import add, mul, neg, sub
from opkit.ops.basis.broadcasting import sum_to
from opkit.ops.core.define import define, define_map, first_only, quiet
from opkit.ops.core.inference import broadcast_shape, check_floating, check_same_dtype, is_same_size, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import Infer
from opkit.ops.core.types import Attrs, Descs, Function, Values
from opkit.ops.core.value import Value, ndim_of, shape_of
from opkit.ops.linear.products import matmul


class SingularError(UsageError, RuntimeError):
    """A matrix has no inverse."""


class ConvergenceError(UsageError, RuntimeError):
    """An iteration to a decomposition of matrices did not end; of matrices with NaN none does."""


def transposed(x: Value) -> Value:
    """Return matrices with rows and columns exchanged."""
    return swapaxes(x, -1, -2)


def check_square(op: str, descs: Descs) -> None:
    """Refuse anything that is not a square floating-point matrix or a stack of them."""
    check_floating(op, descs)
    if descs[0].ndim < 2 or not is_same_size(descs[0].shape[-1], descs[0].shape[-2]):
        raise shape_error(op, descs, "it takes square matrices or stacks of them")


@quiet
def decomposed(op: str, error: type[OpkitError], function: Function, *args: Any) -> Any:
    """Return numpy's result for matrices; where numpy refuses them, raise an error of the given type."""
    try:
        return function(*args)
    except np.linalg.LinAlgError as reason:
        raise error(f"op {op!r}: {reason}") from None


def square(op: str) -> Infer:
    """Return an inference of square matrices from square matrices."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_square(op, descs)
        return [descs[0]]

    return infer


# ---- inverse ---------------------------------------------------------------------------------------------------------
def _inverse_rule(applied: Any, dout: Value) -> Value:
    y = transposed(applied.outputs[0])
    return neg(matmul(matmul(y, dout), y))


INVERSE = define_map(
    "inverse",
    lambda x: decomposed("inverse", SingularError, np.linalg.inv, x),
    _inverse_rule,
    infer=square("inverse"),
    reads="y",
)


def inverse(x: Value) -> Value:
    """Return the inverses of square matrices.

    Raises:
        UsageError: one is singular (it is also a RuntimeError).
    """
    return perform(INVERSE, x)


# ---- determinants ----------------------------------------------------------------------------------------------------
@quiet
def _determinant(x: ndarray) -> Any:
    return np.asarray(np.linalg.det(x))


@quiet
def _log_determinant(x: ndarray) -> tuple[Any, Any]:
    sign, size = np.linalg.slogdet(x)
    return np.asarray(sign), np.asarray(size)


def _infer_determinant(name: str, count: int) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_square(name, descs)
        return [TensorDesc(descs[0].shape[:-2], descs[0].dtype)] * count

    return infer


def _on_matrices(numbers: Value) -> Value:
    return expand_dims(numbers, (-1, -2))


def _determinant_rule(applied: Any, dout: Value) -> Value:
    x, y = applied.inputs[0], applied.outputs[0]
    return mul(_on_matrices(mul(dout, y)), transposed(inverse(x)))


def _log_determinant_rule(applied: Any, douts: Values) -> Values:
    if douts[1] is None:
        return (None,)
    return (mul(_on_matrices(douts[1]), transposed(inverse(applied.inputs[0]))),)


DETERMINANT = define(
    "determinant",
    "x",
    "y",
    _determinant,
    infer=_infer_determinant("determinant", 1),
    grad=first_only(_determinant_rule),
    reads="x y",
)
LOG_DETERMINANT = define(
    "log_determinant",
    "x",
    "sign size",
    _log_determinant,
    infer=_infer_determinant("log_determinant", 2),
    grad=_log_determinant_rule,
    reads="x",
)


def determinant(x: Value) -> Value:
    """Return the determinants of square matrices; where one is singular, its gradient is an error."""
    return perform(DETERMINANT, x)


def log_determinant(x: Value) -> tuple[Value, Value]:
    """Return the signs of determinants, and the logarithms of their absolute values."""
    sign, size = perform(LOG_DETERMINANT, x)
    return sign, size


# ---- systems ---------------------------------------------------------------------------------------------------------
def _solve(a: ndarray, b: ndarray) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError as error:
        raise SingularError(f"op 'solve': {error}") from None


def _infer_solve(descs: Descs, attrs: Attrs) -> Descs:
    a, b = descs
    check_square("solve", descs)
    check_same_dtype("solve", descs)
    if b.ndim < 2 or not is_same_size(a.shape[-1], b.shape[-2]):
        raise shape_error("solve", descs, "the right side has as many rows as the matrix")
    stacks = [TensorDesc(item.shape[:-2], item.dtype) for item in (a, b)]
    return [TensorDesc((*broadcast_shape("solve", stacks), *b.shape[-2:]), b.dtype)]


def _solve_rule(applied: Any, douts: Values) -> Values:
    a, b = applied.inputs
    back = perform(SOLVE, transposed(a), douts[0])
    slope = neg(matmul(back, applied.outputs[0], False, True)) if applied.needs[0] else None
    return None if slope is None else sum_to(slope, a), sum_to(back, b)


SOLVE = define("solve", "a b", "x", _solve, infer=_infer_solve, grad=_solve_rule, reads="a x")


def solve(a: Value, b: Value) -> Value:
    """Return x with ``a @ x = b``.

    Args:
        a: ``(..., n, n)``.
        b: ``(..., n, k)``, or ``(n,)``; the leading axes broadcast.

    Raises:
        ShapeError: the sizes do not fit.
        UsageError: a matrix is singular.
    """
    if ndim_of(b) == 0:
        raise ShapeError("op 'solve': the right side has no axes")
    if ndim_of(b) == 1:
        return squeeze(perform(SOLVE, a, expand_dims(b, -1)), -1)
    return perform(SOLVE, a, b)


# ---- pseudo-inverse --------------------------------------------------------------------------------------------------
def _infer_pseudo_inverse(descs: Descs, attrs: Attrs) -> Descs:
    check_floating("pseudo_inverse", descs)
    if descs[0].ndim < 2:
        raise shape_error("pseudo_inverse", descs, "it takes matrices or stacks of them")
    *lead, rows, columns = descs[0].shape
    return [TensorDesc((*lead, columns, rows), descs[0].dtype)]


def _pseudo_inverse_rule(applied: Any, dout: Value) -> Value:
    # Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), equation 4.12, transposed
    a, p = applied.inputs[0], applied.outputs[0]
    p_t, dout_t = transposed(p), transposed(dout)
    inner = neg(matmul(matmul(p_t, dout), p_t))
    left = matmul(matmul(dout_t, p), p_t)
    right = matmul(matmul(p_t, p), dout_t)
    left = sub(left, matmul(a, matmul(p, left)))
    right = sub(right, matmul(matmul(right, p), a))
    return add(add(inner, left), right)


PSEUDO_INVERSE = define(
    "pseudo_inverse",
    "x",
    "y",
    lambda x, rcond, hermitian: decomposed(
        "pseudo_inverse", ConvergenceError, np.linalg.pinv, x, rcond, hermitian
    ).astype(x.dtype, copy=False),
    infer=_infer_pseudo_inverse,
    attrs="rcond:double hermitian:bool",
    grad=first_only(_pseudo_inverse_rule),
    reads="x y",
)


def pseudo_inverse(x: Value, rcond: float = 1e-15, hermitian: bool = False) -> Value:
    """Return the Moore-Penrose inverses of matrices of any shape; singular values up to rcond's share count as 0."""
    if hermitian and shape_of(x)[-1] != shape_of(x)[-2]:
        raise ShapeError(f"op 'pseudo_inverse': a hermitian matrix is square, got shape {shape_of(x)}")
    return perform(PSEUDO_INVERSE, x, rcond=float(rcond), hermitian=bool(hermitian))
