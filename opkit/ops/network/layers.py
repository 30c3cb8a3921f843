"""Layers without a window and without statistics: bias_add, dropout.

Normalisation is in ``batch_normalization`` and ``layer_normalization``, windows in ``conv`` and ``pool``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import Operation, Rewrite
from opkit.ops.basis.arithmetic import BROADCAST_ADD, SCALAR_MUL, mul
from opkit.ops.basis.broadcasting import reduce_sum
from opkit.ops.basis.creation import zeros_like
from opkit.ops.basis.random import MASK_LIKE, random_mask_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_same_dtype, is_same_size, shape_error, unchanged
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Out, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of


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
