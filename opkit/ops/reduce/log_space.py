"""softmax, log_softmax and logsumexp: computed from the maximum down, so that nothing overflows.

The cross entropies that use them are in ``opkit.ops.network.loss``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.arrange.shape import reshape, swapaxes
from opkit.ops.basis.arithmetic import mul, sub
from opkit.ops.basis.broadcasting import broadcast_like, infer_reduce, reduce_sum
from opkit.ops.core.define import NO_ATTRS, define, define_map, quiet
from opkit.ops.core.inference import same_shape, unchanged_floats
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import GradRule, Kernel, OpDef
from opkit.ops.core.types import Ints, Out, Values
from opkit.ops.core.value import Value, ndim_of, normal_axes, normal_axis, shape_of
from opkit.ops.kernels.blocks import row_blocks
from opkit.ops.pointwise.elementwise import exp


def _define_rows(name: str, kernel: Kernel, slope: Kernel, slope_grad: GradRule) -> tuple[OpDef, OpDef]:
    """Define an op over the last axis whose gradient op reads its result; return both."""
    shape = same_shape(f"{name}_grad", floating=True)
    grad = define(f"{name}_grad", "y dy", "dx", slope, infer=shape, grad=slope_grad, reads="y dy", out=slope)

    def rule(applied: Any, dout: Value) -> Value:
        return perform(grad, applied.outputs[0], dout)

    kept = unchanged_floats(name)
    return define_map(name, kernel, rule, names=("in", "out"), infer=kept, reads="out", out=kernel), grad


# ---- softmax over the last axis --------------------------------------------------------------------------------------
@quiet
@row_blocks
def softmax_of(x: ndarray, out: Out = None) -> ndarray:
    """Return softmax over the last axis."""
    out = np.empty_like(x) if out is None else out
    if not x.size:
        return out
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= np.add.reduce(out, -1, keepdims=True)
    return out


@quiet
@row_blocks
def _softmax_slope(y: ndarray, dy: ndarray, out: Out = None) -> Any:
    out = np.empty_like(y) if out is None else out
    np.multiply(y, dy, out=out)
    inner = np.add.reduce(out, -1, keepdims=True)
    np.subtract(dy, inner, out=out)
    return np.multiply(out, y, out=out)


def _softmax_slope_grad(applied: Any, douts: Values) -> Values:
    # dx = y * (dy - s), s = sum(y * dy)
    y, dy = applied.inputs
    need_y, need_dy = applied.needs
    g = douts[0]
    by_y = None
    if need_y:
        inner = reduce_sum(mul(y, dy), -1, keepdims=True)
        weight = reduce_sum(mul(y, g), -1, keepdims=True)
        by_y = sub(mul(g, sub(dy, inner)), mul(dy, weight))
    return by_y, perform(SOFTMAX_GRAD, y, g) if need_dy else None


SOFTMAX, SOFTMAX_GRAD = _define_rows("softmax", softmax_of, _softmax_slope, _softmax_slope_grad)


# ---- log_softmax over the last axis ----------------------------------------------------------------------------------
@quiet
@row_blocks
def log_softmax_of(x: ndarray, out: Out = None) -> ndarray:
    """Return log(softmax) over the last axis."""
    out = np.empty_like(x) if out is None else out
    if not x.size:
        return out
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    out -= np.log(np.add.reduce(np.exp(out), -1, keepdims=True))
    return out


@quiet
@row_blocks
def _log_softmax_slope(y: ndarray, dy: ndarray, out: Out = None) -> Any:
    out = np.exp(y, out=out)
    out *= np.add.reduce(dy, -1, keepdims=True)
    return np.subtract(dy, out, out=out)


def _log_softmax_slope_grad(applied: Any, douts: Values) -> Values:
    # dx = dy - exp(y) * sum(dy)
    y, dy = applied.inputs
    need_y, need_dy = applied.needs
    g = douts[0]
    weighted = mul(exp(y), g)
    by_y = mul(mul(weighted, -1.0), reduce_sum(dy, -1, keepdims=True)) if need_y else None
    return by_y, sub(g, reduce_sum(weighted, -1, keepdims=True)) if need_dy else None


LOG_SOFTMAX, LOG_SOFTMAX_GRAD = _define_rows("log_softmax", log_softmax_of, _log_softmax_slope, _log_softmax_slope_grad)


def _over_last(opdef: Any, x: Value, axis: int) -> Value:
    ndim = ndim_of(x)
    at = normal_axis(axis, ndim, opdef.name) if ndim else 0
    if ndim == 0:
        return reshape(local.mode.apply(opdef, (reshape(x, (1,)),), NO_ATTRS), ())
    if at == ndim - 1:
        return local.mode.apply(opdef, (x,), NO_ATTRS)
    return swapaxes(local.mode.apply(opdef, (swapaxes(x, at, ndim - 1),), NO_ATTRS), at, ndim - 1)


def softmax(x: Value, axis: int = -1) -> Value:
    """Return exp(x) / sum(exp(x)) over an axis, without overflow."""
    return _over_last(SOFTMAX, x, axis)


def log_softmax(x: Value, axis: int = -1) -> Value:
    """Return log(softmax(x)) over an axis, exact where softmax itself would round to 0."""
    return _over_last(LOG_SOFTMAX, x, axis)


# ---- logsumexp -------------------------------------------------------------------------------------------------------
@quiet
def _logsumexp(input_tensor: ndarray, axis: Ints, keepdims: bool) -> Any:
    axes = tuple(axis) or None
    top = np.max(input_tensor, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(input_tensor.dtype)
    total = np.log(np.add.reduce(np.exp(input_tensor - top), axes, keepdims=True)) + top
    return total if keepdims else total.squeeze(axes)


def _logsumexp_grad(applied: Any, dout: Value) -> Value:
    x, axis = applied.inputs[0], applied.attrs["axis"]
    wide = broadcast_like(applied.outputs[0], x, axis)
    return mul(broadcast_like(dout, x, axis), exp(sub(x, wide)))


LOGSUMEXP = define_map(
    "logsumexp",
    _logsumexp,
    _logsumexp_grad,
    names=("input_tensor", "output_tensor"),
    infer=infer_reduce("logsumexp"),
    attrs="axis:vector<int32> keepdims:bool",
    reads="input_tensor output_tensor",
)


def logsumexp(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return log(sum(exp(x))) over axes, without overflow."""
    axes = normal_axes(axis, len(shape_of(x)), "logsumexp")
    return local.mode.apply(LOGSUMEXP, (x,), {"axis": axes, "keepdims": bool(keepdims)})
