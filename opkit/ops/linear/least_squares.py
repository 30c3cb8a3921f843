"""least_squares: the solutions of systems that have more or fewer equations than unknowns; they have no gradient."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.core.define import define
from opkit.ops.core.inference import check_floating, check_same_dtype, is_same_size, shape_error
from opkit.ops.core.mode import local
from opkit.ops.core.types import Attrs, Descs
from opkit.ops.core.value import Value, dtype_of, shape_of
from opkit.ops.linear.inversion import ConvergenceError, decomposed


def _least_squares(x: ndarray, y: ndarray, limit: float) -> tuple[ndarray, ...]:
    solution, residuals, rank, sizes = decomposed("least_squares", ConvergenceError, np.linalg.lstsq, x, y, limit)
    real = (np.asarray(item).astype(x.dtype) for item in (solution, residuals))
    return (*real, np.array(rank, np.int32), sizes.astype(x.dtype))


def _infer(descs: Descs, attrs: Attrs) -> Descs:
    check_same_dtype("least_squares", descs)
    check_floating("least_squares", descs)
    x, y = descs
    if x.ndim != 2 or y.ndim not in (1, 2) or not is_same_size(x.shape[0], y.shape[0]):
        raise shape_error("least_squares", descs, "it takes a matrix and as many right sides as it has rows")
    rows, columns = x.shape
    count = -1 if -1 in (rows, columns) else min(rows, columns)
    return [
        TensorDesc((columns, *y.shape[1:]), x.dtype),
        TensorDesc((-1,), x.dtype),
        TensorDesc((), "int32"),
        TensorDesc((count,), x.dtype),
    ]


LEAST_SQUARES = define(
    "least_squares", "x y", "solution residuals rank sizes", _least_squares, infer=_infer, attrs="limit:double"
)


def least_squares(x: Value, y: Value, limit: float | None = None) -> tuple[Value, Value, Value, Value]:
    """Return what makes ``x @ solution - y`` least, the residuals, the rank of ``x`` and its singular values.

    Args:
        x: ``(m, n)``, floating-point.
        y: ``(m,)`` or ``(m, k)``, of the same dtype.
        limit: singular values below this share of the largest count as 0; left out: the dtype's resolution times the
            larger size of ``x``.
    """
    if limit is None:
        limit = float(np.finfo(dtype_of(x)).eps * max(shape_of(x)))
    solution, residuals, rank, sizes = local.mode.apply(LEAST_SQUARES, (x, y), {"limit": float(limit)})
    return solution, residuals, rank, sizes
