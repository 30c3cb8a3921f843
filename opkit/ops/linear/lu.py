"""LU factors of matrices with exchanged rows; of one matrix or a stack of them, of any sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.arrange.joining import concat
from opkit.ops.arrange.matrix import tril, triu
from opkit.ops.arrange.scattering import take_along_axis
from opkit.ops.arrange.shape import expand_dims
from opkit.ops.arrange.slicing import slice as part_of
from opkit.ops.basis.arithmetic import add
from opkit.ops.basis.broadcasting import broadcast_to
from opkit.ops.basis.creation import eye
from opkit.ops.core.define import NO_ATTRS, define, first_only, quiet
from opkit.ops.core.inference import check_floating, shape_error
from opkit.ops.core.mode import local
from opkit.ops.core.types import Attrs, Descs
from opkit.ops.core.value import Value, shape_of
from opkit.ops.linear.inversion import check_square, solve, transposed
from opkit.ops.linear.products import matmul


def _eliminated(matrix: ndarray, order: ndarray | None) -> tuple[ndarray, list[int]]:
    """Return both triangles in one matrix and the row exchanged with each; with an order the rows stay."""
    left, pivots = matrix.copy(), []
    for k in range(min(left.shape)):
        row = k
        if order is not None:
            row += int(np.argmax(np.abs(left[k:, k])))
            left[[k, row]], order[[k, row]] = left[[row, k]], order[[row, k]]
        pivots.append(row + 1)
        if left[k, k]:
            left[k + 1 :, k] /= left[k, k]
            left[k + 1 :, k + 1 :] -= np.outer(left[k + 1 :, k], left[k, k + 1 :])
    return left, pivots


# ---- row exchanges ---------------------------------------------------------------------------------------------------
@quiet
def _exchanges(x: ndarray) -> tuple[ndarray, ndarray]:
    lead, rows, least = x.shape[:-2], x.shape[-2], min(x.shape[-2:])
    orders = np.broadcast_to(np.arange(rows), (*lead, rows)).copy()
    flat = orders.reshape(-1, rows)
    found = [_eliminated(matrix, order)[1] for matrix, order in zip(x.reshape(-1, *x.shape[-2:]), flat)]
    return flat.reshape(orders.shape), np.array(found, np.int32).reshape(*lead, least)


def _infer_exchanges(descs: Descs, attrs: Attrs) -> Descs:
    check_floating("lu_exchanges", descs)
    if descs[0].ndim < 2:
        raise shape_error("lu_exchanges", descs, "it takes matrices or stacks of them")
    *lead, rows, columns = descs[0].shape
    least = -1 if -1 in (rows, columns) else min(rows, columns)
    return [TensorDesc((*lead, rows), "int64"), TensorDesc((*lead, least), "int32")]


EXCHANGES = define("lu_exchanges", "x", "order pivots", _exchanges, infer=_infer_exchanges)


# ---- the triangles ---------------------------------------------------------------------------------------------------
@quiet
def _packed(x: ndarray) -> ndarray:
    stack = [_eliminated(matrix, None)[0] for matrix in x.reshape(-1, *x.shape[-2:])]
    return np.array(stack, x.dtype).reshape(x.shape)


def _infer_packed(descs: Descs, attrs: Attrs) -> Descs:
    check_square("lu_packed", descs)
    return [descs[0]]


def _unit_lower(packed: Value) -> Value:
    return add(tril(packed, -1), eye(shape_of(packed)[-1], dtype=packed._data.dtype.name))


def _packed_rule(applied: Any, dout: Value) -> Value:
    # S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions", arXiv:1001.1654, section 3:
    # L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T
    packed = applied.outputs[0]
    lower, upper = _unit_lower(packed), triu(packed)
    inner = add(tril(matmul(lower, tril(dout, -1), True, False), -1), triu(matmul(triu(dout), upper, False, True)))
    return transposed(solve(upper, transposed(solve(transposed(lower), inner))))


PACKED = define("lu_packed", "x", "y", _packed, infer=_infer_packed, grad=first_only(_packed_rule), reads="y")


def lu(x: Value) -> tuple[Value, Value]:
    """Return both triangles of the LU factors in one matrix, and the row exchanges, counted from 1.

    The gradient is that at fixed exchanges; it needs the leading square block to be invertible.

    Args:
        x: ``(..., m, n)`` of known sides.

    Returns:
        ``(..., m, n)`` with L below the diagonal, its ones left out, and U; ``(..., min(m, n))`` int32.
    """
    order, pivots = local.mode.apply(EXCHANGES, (x,), NO_ATTRS)
    shape = shape_of(x)
    rows, columns = shape[-2:]
    placed = take_along_axis(x, broadcast_to(expand_dims(order, -1), shape), -2)
    if rows == columns:
        return local.mode.apply(PACKED, (placed,), NO_ATTRS), pivots
    least, axes = min(rows, columns), [len(shape) - 2, len(shape) - 1]
    block = local.mode.apply(PACKED, (part_of(placed, axes, [0, 0], [least, least]),), NO_ATTRS)
    rest = part_of(placed, axes, [0, least] if rows < columns else [least, 0], [rows, columns])
    if rows < columns:
        return concat([block, solve(_unit_lower(block), rest)], -1), pivots
    return concat([block, transposed(solve(transposed(triu(block)), transposed(rest)))], -2), pivots
