"""Layers without a window and without statistics: bias_add, dropout, l2_normalize.

Normalisation is in ``batch_normalization`` and ``layer_normalization``, windows in ``conv`` and ``pool``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import Operation, Rewrite, TensorDesc
from opkit.ops.basis.arithmetic import BROADCAST_ADD, SCALAR_MUL, add, div, mul, neg, plus, scalar_mul, sub
from opkit.ops.basis.broadcasting import reduce_sum
from opkit.ops.basis.creation import cast_like, zeros_like
from opkit.ops.basis.random import MASK_LIKE, random_mask_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, check_same_dtype, is_same_size, shape_error, unchanged
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Out, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of
from opkit.ops.pointwise.compare import greater, maximum
from opkit.ops.pointwise.elementwise import rsqrt


# ---- bias_add --------------------------------------------------------------------------------------------------------
def _along(vector: ndarray, ndim: int, axis: int) -> ndarray:
    return vector.reshape([-1 if i == axis else 1 for i in range(ndim)])


@quiet
def _bias_add(a: ndarray, b: ndarray, axis: int, out: Out = None) -> Any:
    return np.add(a, b if axis % a.ndim == a.ndim - 1 else _along(b, a.ndim, axis % a.ndim), out=out)


def _infer_bias(descs: Descs, attrs: Attrs) -> Descs:
    a, b = descs
    check_same_dtype("bias_add", descs)
    axis = normal_axis(attrs["axis"], a.ndim, "bias_add")
    if b.ndim != 1 or not is_same_size(a.shape[axis], b.shape[0]):
        raise shape_error("bias_add", descs, f"the bias must be a vector of the size of axis {axis}")
    return [a]


def _bias_grad(applied: Any, douts: Values) -> Values:
    ndim = len(shape_of(applied.inputs[0]))
    axis = applied.attrs["axis"] % ndim
    others = [i for i in range(ndim) if i != axis]
    need_b = applied.needs[1]
    return douts[0], (reduce_sum(douts[0], others) if others else douts[0]) if need_b else None


BIAS_ADD = define(
    "bias_add", "a b", "out", _bias_add, infer=_infer_bias, attrs="axis:int32", grad=_bias_grad, out=_bias_add
)


def bias_add(x: Value, bias: Value, axis: int = -1) -> Value:
    """Return ``x`` with a vector added along an axis."""
    return local.mode.apply(BIAS_ADD, (x, bias), {"axis": normal_axis(axis, ndim_of(x), "bias_add")})


# ---- dropout ---------------------------------------------------------------------------------------------------------
@quiet
def _dropout(x: ndarray, mask: ndarray, addend: ndarray | None = None, scale: float = 1.0, out: Out = None) -> Any:
    out = np.multiply(x, mask, out=np.empty_like(x) if out is None else out, casting="unsafe")
    np.multiply(out, scale, out=out)
    return out if addend is None else np.add(out, addend, out=out)


def _dropout_grad(applied: Any, douts: Values) -> Values:
    mask, addend = applied.inputs[1], applied.inputs[2]
    dx = perform(DROPOUT_GRAD, douts[0], mask, **applied.attrs)
    return dx, None, None if addend is None else douts[0]


DROPOUT_GRAD: OpDef = define(
    "dropout_grad",
    "dy mask",
    "dx",
    lambda dy, mask, scale, out=None: _dropout(dy, mask, None, scale, out),
    infer=unchanged,
    attrs="scale:float",
    grad=lambda applied, douts: (perform(DROPOUT_GRAD, douts[0], applied.inputs[1], **applied.attrs), None),
    reads="mask",
    out=lambda dy, mask, scale, out: _dropout(dy, mask, None, scale, out),
    elementwise=True,
)


def _keep_all(op: Operation) -> Rewrite:
    """In inference nothing is dropped: the input is multiplied by the average of the random mask and the scale.

    With something to add to the output, the scale must compensate for the mask, as in ``dropout``.
    """
    x, mask, addend = op.inputs
    if addend is not None:
        return Rewrite(opdef=BROADCAST_ADD, inputs=(x, addend))
    drawn = None if mask is None else mask.producer
    if drawn is None or drawn.opdef is not MASK_LIKE:
        return Rewrite(same_as=0)
    average = op.attrs["scale"] * (1.0 - drawn.attrs["rate"])
    if math.isclose(average, 1.0, rel_tol=1e-9):
        return Rewrite(same_as=0)
    attrs = {"has_int_operand": False, "has_float_operand": True, "int_operand": 0, "float_operand": average}
    return Rewrite(opdef=SCALAR_MUL, inputs=(x,), attrs=attrs)


DROPOUT = define(
    "dropout",
    "in mask ?_add_to_output",
    "out",
    _dropout,
    infer=unchanged,
    attrs="scale:float",
    grad=_dropout_grad,
    reads="mask",
    out=_dropout,
    elementwise=True,
    for_inference=_keep_all,
)


def dropout(x: Value, rate: float, seed: int = 0, *, upscale: bool = True) -> Value:
    """Return ``x`` with elements set to 0 with probability ``rate``.

    Args:
        x: floating-point, any shape.
        rate: between 0 and 1.
        seed: of the mask alone; 0: the process's generator.
        upscale: divide what is kept by ``1 - rate``; else inference multiplies by ``1 - rate``.

    Raises:
        UsageError: the rate is not between 0 and 1.
    """
    if not 0 <= rate <= 1:
        raise UsageError(f"op 'dropout': the rate must be between 0 and 1, got {rate}")
    if rate == 0:
        return x
    if rate == 1:
        return mul(x, zeros_like(x))
    mask = random_mask_like(x, rate, seed)
    return local.mode.apply(DROPOUT, (x, mask, None), {"scale": 1 / (1 - rate) if upscale else 1.0})


# ---- l2_normalize ----------------------------------------------------------------------------------------------------
@quiet
def _l2_normalize(x: ndarray, axis: int, epsilon: float) -> tuple[ndarray, ndarray]:
    total = np.add.reduce(x * x, axis, x.dtype, keepdims=True)
    return x / np.sqrt(np.maximum(total, epsilon)), total


@quiet
def _l2_slope(dy: ndarray, y: ndarray, total: ndarray, axis: int, epsilon: float) -> Any:
    size = np.sqrt(np.maximum(total, epsilon))
    inner = np.where(total > epsilon, np.add.reduce(y * dy, axis, keepdims=True), y.dtype.type(0))
    return (dy - y * inner) / size


def _l2_normalize_grad(applied: Any, douts: Values) -> Values:
    by_y, by_total = douts
    y, total = applied.outputs
    grad = None
    if by_y is not None:
        grad = perform(L2_NORMALIZE_GRAD, by_y, y, total, **applied.attrs)
    if by_total is not None:
        through = mul(applied.inputs[0], scalar_mul(by_total, 2.0))
        grad = plus(grad, through)
    return (grad,)


def _infer_l2(descs: Descs, attrs: Attrs) -> Descs:
    x = descs[0]
    check_floating("l2_normalize", descs)
    axis = normal_axis(attrs["axis"], x.ndim, "l2_normalize")
    return [x, TensorDesc((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)]


def _l2_slope_grad(applied: Any, douts: Values) -> Values:
    # dx = (dy - y * s) * r, with s = sum(y * dy) and r = 1 / sqrt(total); s counts only above epsilon
    dy, y, total = applied.inputs
    g, axis, epsilon = douts[0], applied.attrs["axis"], applied.attrs["epsilon"]
    inside = cast_like(greater(total, epsilon), y)
    safe = maximum(total, epsilon)
    root = rsqrt(safe)
    s = mul(reduce_sum(mul(y, dy), axis, keepdims=True), inside)
    t = mul(reduce_sum(mul(y, g), axis, keepdims=True), inside)
    by_y = neg(mul(add(mul(g, s), mul(dy, t)), root))
    slope = mul(sub(dy, mul(y, s)), root)
    by_total = mul(div(reduce_sum(mul(g, slope), axis, keepdims=True), safe), scalar_mul(inside, -0.5))
    return perform(L2_NORMALIZE_GRAD, g, y, total, **applied.attrs), by_y, by_total


L2_NORMALIZE_GRAD = define(
    "l2_normalize_grad",
    "dy y square_x_sum",
    "dx",
    _l2_slope,
    infer=unchanged,
    attrs="axis:int32 epsilon:float",
    grad=_l2_slope_grad,
    reads="dy y square_x_sum",
)
L2_NORMALIZE = define(
    "l2_normalize",
    "x",
    "y square_x_sum",
    _l2_normalize,
    infer=_infer_l2,
    attrs="axis:int32 epsilon:float",
    grad=_l2_normalize_grad,
    reads="x y square_x_sum",
)
