"""Matrix products: matmul of two matrices, of stacks, and with broadcasting of the stacking axes.

``bias_add`` and normalisation are in ``opkit.ops.network.layers``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, ShapeError
from opkit.ir import TensorDesc
from opkit.ops.arrange.shape import expand_dims, squeeze
from opkit.ops.basis.arithmetic import mul
from opkit.ops.basis.broadcasting import fitted, reduce_sum, sum_to
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import broadcast_shape, check_same_dtype, is_same_size, operands, shape_error
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import Applied, Kept, OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Out, Values
from opkit.ops.core.value import Value, desc_of, dtype_of, ndim_of

_ATTRS = "transpose_a:bool transpose_b:bool alpha:double"


@quiet
def _matmul(
    a: ndarray,
    b: ndarray,
    addend: ndarray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    out: Out = None,
) -> Any:
    if transpose_a:
        a = a.swapaxes(-1, -2)
    if transpose_b:
        b = b.swapaxes(-1, -2)
    if a.dtype == np.float16:
        result = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
        if out is not None:
            out[...] = result
            result = out
    else:
        result = np.matmul(a, b, out=out)
    if alpha != 1.0:
        result *= alpha
    if addend is not None:
        result += addend
    return result


_bare_matmul: Function = _matmul.bare  # type: ignore[attr-defined]


def _sides(descs: Values, attrs: Attrs) -> tuple[int, int, int, int]:
    rows, inner = descs[0].shape[-2:]
    depth, columns = descs[1].shape[-2:]
    if attrs["transpose_a"]:
        rows, inner = inner, rows
    if attrs["transpose_b"]:
        depth, columns = columns, depth
    return rows, inner, depth, columns


def _infer(op: str, batch: str) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_same_dtype(op, descs)
        a, b = descs[0], descs[1]
        if a.ndim < 2 or b.ndim < 2 or (batch == "none" and (a.ndim, b.ndim) != (2, 2)):
            raise shape_error(op, [a, b], "both must be matrices" + ("" if batch == "none" else " or stacks of them"))
        rows, inner, depth, columns = _sides(descs, attrs)
        if not is_same_size(inner, depth):
            flags = f"transpose_a={attrs['transpose_a']}, transpose_b={attrs['transpose_b']}"
            raise shape_error(op, [a, b], f"the inner sizes {inner} and {depth} differ ({flags})")
        if batch == "same" and (
            a.ndim != b.ndim or not all(map(is_same_size, a.shape[:-2], b.shape[:-2])) or a.ndim < 3
        ):
            raise shape_error(op, [a, b], "the stacking axes must be the same")
        lead = broadcast_shape(op, [TensorDesc(a.shape[:-2], a.dtype), TensorDesc(b.shape[:-2], b.dtype)])
        result = TensorDesc((*lead, rows, columns), a.dtype)
        for addend in descs[2:]:
            if addend is not None:
                shape = broadcast_shape(op, [result, addend])
                if len(shape) != result.ndim or not all(map(is_same_size, shape, result.shape)):
                    raise shape_error(op, [result, addend], "what is added does not fit the product")
        return [result]

    return infer


def _product(op: OpDef, a: Value, b: Value, transpose_a: bool, transpose_b: bool, alpha: float = 1.0) -> Value:
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b, "alpha": alpha}
    return local.mode.apply(op, (a, b, None), attrs)


def _matmul_grad(applied: Any, douts: Values) -> Values:
    op, dout = applied.opdef, douts[0]
    a, b, addend = applied.inputs
    need_addend = applied.needs[2]
    alpha = applied.attrs["alpha"]
    da, db = _factors(lambda x, y, at, bt: _product(op, x, y, at, bt, alpha), a, b, dout, applied)
    if op is BROADCAST_MATMUL:
        da = None if da is None else _sum_stack(da, a)
        db = None if db is None else _sum_stack(db, b)
    return da, db, sum_to(dout, addend) if addend is not None and need_addend else None


def _matmul_kernel(kept: Kept, dy: ndarray) -> Values:
    a, b = kept.array(0), kept.array(1)
    alpha = kept.attrs["alpha"]
    da, db = _factors(lambda x, y, at, bt: _bare_matmul(x, y, None, at, bt, alpha), a, b, dy, kept)
    return (
        None if da is None else fitted(da, a),
        None if db is None else fitted(db, b),
        fitted(dy, kept.array(2)) if kept.needs[2] else None,
    )


def _factors(product: Function, a: Any, b: Any, dout: Any, applied: Applied | Kept) -> tuple[Any, Any]:
    """Return the cotangents of both factors, by ``product(x, y, transpose x, transpose y)``; None where not needed."""
    need_a, need_b = applied.needs[:2]
    trans_a, trans_b = applied.attrs["transpose_a"], applied.attrs["transpose_b"]
    da = db = None
    if need_a:
        da = product(b, dout, trans_b, True) if trans_a else product(dout, b, False, not trans_b)
    if need_b:
        db = product(dout, a, True, trans_a) if trans_b else product(a, dout, not trans_a, False)
    return da, db


def _sum_stack(cotangent: Value, operand: Value) -> Value:
    # A single matrix times a stack needs no check of the stacking axes when both are plain matrices.
    return cotangent if ndim_of(cotangent) == 2 else sum_to(cotangent, operand)


def _define(name: str, batch: str) -> OpDef:
    return define(
        name,
        "a b ?_add_to_output",
        "out",
        _matmul,
        infer=_infer(name, batch),
        attrs=_ATTRS,
        defaults={"alpha": 1.0},
        grad=_matmul_grad,
        grad_kernel=_matmul_kernel,
        reads="a b",
        out=_matmul,
    )


MATMUL = _define("matmul", "none")
BATCH_MATMUL = _define("batch_matmul", "same")
BROADCAST_MATMUL = _define("broadcast_matmul", "broadcast")


def matmul(x: Value, y: Value, transpose_x: bool = False, transpose_y: bool = False) -> Value:
    """Return the matrix product; stacking axes broadcast, a vector is a row on the left and a column on the right.

    Args:
        x: ``(..., m, k)`` or ``(k,)``.
        y: ``(..., k, n)`` or ``(k,)``, of the same dtype.
        transpose_x: swap the last two axes of ``x`` first.
        transpose_y: likewise.

    Raises:
        DtypeError: the dtypes differ.
        ShapeError: the inner sizes differ, or an operand has no axis.
    """
    if dtype_of(x) != dtype_of(y):
        raise DtypeError(f"op 'matmul' got {operands([desc_of(x), desc_of(y)])}: the dtypes must be the same")
    left, right = ndim_of(x), ndim_of(y)
    if left == 2 and right == 2:
        return _product(MATMUL, x, y, bool(transpose_x), bool(transpose_y))
    if not left or not right:
        raise ShapeError(f"op 'matmul' got {operands([desc_of(x), desc_of(y)])}: a tensor without axes is not a matrix")
    a = expand_dims(x, 0) if left == 1 else x
    b = expand_dims(y, 1) if right == 1 else y
    opdef = BROADCAST_MATMUL if left > 2 or right > 2 else MATMUL
    out = _product(opdef, a, b, bool(transpose_x and left > 1), bool(transpose_y and right > 1))
    drop = [*([-2] if left == 1 else []), *([-1] if right == 1 else [])]
    return squeeze(out, drop) if drop else out


def dot(x: Value, y: Value) -> Value:
    """Return the inner product over the last axis."""
    return reduce_sum(mul(x, y), axis=-1)
