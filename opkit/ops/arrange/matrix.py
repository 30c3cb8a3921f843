"""Parts of matrices: triangles and diagonals.

Matrix products are in ``opkit.ops.linear.products``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.core.define import define, define_linear, first_only
from opkit.ops.core.inference import shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs
from opkit.ops.core.value import Value

# ---- tril, triu ------------------------------------------------------------------------------------------------------
_FILL = "diagonal:int64 floating_fill_value:double integer_fill_value:int64 is_floating_fill_value:bool"


def _triangle(name: str, *, lower: bool) -> Any:
    def kernel(
        x: ndarray, diagonal: int, floating_fill_value: float, integer_fill_value: int, is_floating_fill_value: bool
    ) -> ndarray:
        keep = np.tri(x.shape[-2], x.shape[-1], k=diagonal if lower else diagonal - 1, dtype=bool)
        fill = floating_fill_value if is_floating_fill_value else integer_fill_value
        return np.where(keep if lower else ~keep, x, x.dtype.type(fill))

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        if descs[0].ndim < 2:
            raise shape_error(name, descs, "it takes matrices or stacks of them")
        return [descs[0]]

    def rule(applied: Any, dout: Value) -> Value:
        return perform(opdef, dout, **_fill(applied.attrs["diagonal"], 0))

    opdef = define(name, "in", "out", kernel, infer=infer, attrs=_FILL, grad=first_only(rule), silent=True)
    return opdef


def _fill(diagonal: int, value: float) -> Attrs:
    is_floating = isinstance(value, float)
    return {
        "diagonal": diagonal,
        "floating_fill_value": value if is_floating else 0.0,
        "integer_fill_value": 0 if is_floating else value,
        "is_floating_fill_value": is_floating,
    }


TRIL = _triangle("tril", lower=True)
TRIU = _triangle("triu", lower=False)


def tril(x: Value, diagonal: int = 0, fill: float = 0) -> Value:
    """Return the lower triangles of matrices, and ``fill`` above the diagonal."""
    return perform(TRIL, x, **_fill(diagonal, fill))


def triu(x: Value, diagonal: int = 0, fill: float = 0) -> Value:
    """Return the upper triangles of matrices, and ``fill`` below the diagonal."""
    return perform(TRIU, x, **_fill(diagonal, fill))


# ---- diag ------------------------------------------------------------------------------------------------------------
def _diag_slope(dy: ndarray, like: Any, diagonal: int) -> ndarray:
    if len(like.shape) == 1:
        return np.array(np.diag(dy, diagonal))
    dx = np.zeros(like.shape, dy.dtype)
    rows = np.arange(dy.size) + max(0, -diagonal)
    dx[rows, rows + diagonal] = dy
    return dx


def _infer_diag(descs: Descs, attrs: Attrs) -> Descs:
    x, k = descs[0], attrs["diagonal"]
    if x.ndim not in (1, 2):
        raise shape_error("diag", descs, "it takes a vector or a matrix")
    if x.ndim == 1:
        size = -1 if x.shape[0] == -1 else x.shape[0] + abs(k)
        return [TensorDesc((size, size), x.dtype)]
    rows, columns = x.shape
    unknown = -1 in x.shape
    return [TensorDesc((-1 if unknown else max(0, min(rows + min(k, 0), columns - max(k, 0))),), x.dtype)]


DIAG, DIAG_GRAD = define_linear(
    "diag",
    lambda x, diagonal: np.array(np.diag(x, diagonal)),
    _diag_slope,
    names=("in", "out", "in"),
    infer=_infer_diag,
    attrs="diagonal:int32",
)


def diag(x: Value, diagonal: int = 0) -> Value:
    """Return a vector as a matrix's diagonal, or the diagonal of a matrix."""
    return perform(DIAG, x, diagonal=int(diagonal))
