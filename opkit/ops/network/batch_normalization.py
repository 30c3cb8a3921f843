"""Normalisation per channel over the batch, with moving averages; the op ``normalization`` among them.

Normalisation within a sample is in ``opkit.ops.network.layer_normalization``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, Rewrite, TensorDesc
from opkit.ops.basis.arithmetic import mul, plus, scalar_add, scalar_mul, sub
from opkit.ops.basis.broadcasting import broadcast_like, reduce_sum
from opkit.ops.basis.creation import constant
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, is_same_size, merge_shapes, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value, dtype_of, ndim_of, normal_axis, shape_of
from opkit.ops.network.statistics import (
    share_of,
    slope_by,
    slope_by_x,
    slope_of,
    statistics_of,
    wide_of,
    with_statistics,
)
from opkit.ops.pointwise.elementwise import rsqrt


# ---- batch norm ------------------------------------------------------------------------------------------------------
def _others(ndim: int, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i != axis % ndim)


def _column(vector: ndarray, ndim: int, axis: int) -> ndarray:
    return vector.reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])


@quiet
def _affine(x: ndarray, mean: ndarray, r: ndarray, gamma: ndarray, beta: ndarray) -> Any:
    factor = r * gamma
    y = x * factor
    y += beta - mean * factor
    return y


@quiet
def _trained(
    x: ndarray, gamma: ndarray, beta: ndarray, axis: int, epsilon: float
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    wide = wide_of(x)
    mean, variance, r = statistics_of(wide, _others(x.ndim, axis), epsilon)
    h = wide - mean
    h *= r * _column(gamma, x.ndim, axis)
    h += _column(beta, x.ndim, axis)
    return h.astype(x.dtype, copy=False), mean.reshape(-1), r.reshape(-1), variance.reshape(-1)


def _infer_statistics(op: str, count: int, params: int) -> Any:
    """Return the inference of an op whose inputs are x, ``params`` vectors, and perhaps an addend shaped as x."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        x, vectors, addends = descs[0], descs[1 : params + 1], descs[params + 1 :]
        check_floating(op, [x])
        axis = normal_axis(attrs["axis"], x.ndim, op)
        if any(item.ndim != 1 or not is_same_size(item.shape[0], x.shape[axis]) for item in vectors):
            raise shape_error(op, descs, f"the parameters must be vectors of the size of axis {axis}")
        merge_shapes(op, [x, *(item for item in addends if item is not None)])
        vector = TensorDesc((x.shape[axis],), "float32" if x.dtype == "float16" else x.dtype)
        return [x, *[vector] * (count if attrs.get("training", True) else 0)]

    return infer


def _trained_grad(applied: Any, douts: Values) -> Values:
    x, gamma, _ = applied.inputs
    mean, r = applied.outputs[1:3]
    dy, by_mean, by_r, by_variance = douts
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    dx = d_gamma = d_beta = None
    if dy is not None:
        attrs = {"axis": applied.attrs["axis"], "epsilon": applied.attrs["epsilon"]}
        d_gamma, d_beta, dx = perform(NORMALIZATION_GRAD, x, dy, mean, r, gamma, **attrs)
    if by_variance is not None:
        centred = sub(x, broadcast_like(mean, x, axes))
        through = scalar_mul(mul(centred, share_of(by_variance, x, axes)), 2.0)
        dx = plus(dx, through)
    return with_statistics(dx, x, mean, r, by_mean, by_r, axes), d_gamma, d_beta


@quiet
def _normalization_slope(
    x: ndarray, dy: ndarray, mean: ndarray, inv_variance: ndarray, gamma: ndarray, axis: int, epsilon: float
) -> tuple[ndarray, ndarray, ndarray]:
    axes = _others(x.ndim, axis)
    r = _column(inv_variance, x.ndim, axis)
    h = wide_of(x) - _column(mean, x.ndim, axis)
    h *= r
    wide = wide_of(dy)
    d_gamma, d_beta = np.add.reduce(wide * h, axes), np.add.reduce(wide, axes)
    dx = slope_of(wide, h, r * _column(gamma, x.ndim, axis), axes)
    return (
        d_gamma.astype(gamma.dtype, copy=False),
        d_beta.astype(gamma.dtype, copy=False),
        dx.astype(x.dtype, copy=False),
    )


def _normalization_slope_grad(applied: Any, douts: Values) -> Values:
    # d_gamma = sum(dy * h), d_beta = sum(dy), dx = gamma * D(dy)
    x, dy, mean, r, gamma = applied.inputs
    g_gamma, g_beta, g = douts
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    r, gamma = broadcast_like(r, x, axes), broadcast_like(gamma, x, axes)
    h = mul(sub(x, broadcast_like(mean, x, axes)), r)
    by_x, by_dy, by_gamma = [], [], None
    if g is not None:
        by_dy.append(mul(gamma, slope_by(g, h, r, axes)))
        by_x.append(mul(gamma, slope_by_x(dy, g, h, r, axes)))
        by_gamma = reduce_sum(mul(g, slope_by(dy, h, r, axes)), axes)
    if g_gamma is not None:
        wide = broadcast_like(g_gamma, x, axes)
        by_dy.append(mul(wide, h))
        by_x.append(mul(wide, slope_by(dy, h, r, axes)))
    if g_beta is not None:
        by_dy.append(broadcast_like(g_beta, x, axes))
    return reduce(plus, by_x, None), reduce(plus, by_dy, None), None, None, by_gamma


def _infer_normalization_slope(descs: Descs, attrs: Attrs) -> Descs:
    x, dy, *vectors = descs
    merge_shapes("normalization_grad", [x, dy])
    axis = normal_axis(attrs["axis"], x.ndim, "normalization_grad")
    if any(item.ndim != 1 or not is_same_size(item.shape[0], x.shape[axis]) for item in vectors):
        raise shape_error("normalization_grad", descs, f"all but x and dy must be vectors of the size of axis {axis}")
    return [descs[4], descs[4], x]


NORMALIZATION_GRAD = define(
    "normalization_grad",
    "x dy mean inv_variance gamma",
    "gamma_diff beta_diff dx",
    _normalization_slope,
    infer=_infer_normalization_slope,
    attrs="axis:int32 epsilon:float",
    grad=_normalization_slope_grad,
    reads="x dy mean inv_variance gamma",
)
BATCH_NORM = define(
    "batch_norm_train",
    "x gamma beta",
    "y mean inv_variance variance",
    _trained,
    infer=_infer_statistics("batch_norm_train", 3, 2),
    attrs="axis:int32 epsilon:float",
    grad=_trained_grad,
    reads="x gamma mean inv_variance",
    for_inference=lambda op: _by_moving_averages(op),
)


# ---- moving averages -------------------------------------------------------------------------------------------------
@quiet
def _move(moving: ndarray, value: ndarray, momentum: float) -> tuple[()]:
    moving *= momentum
    moving += value * (1 - momentum)
    return ()


def _infer_move(descs: Descs, attrs: Attrs) -> Descs:
    merge_shapes("moving_average_update", descs)
    return []


MOVING_AVERAGE = define(
    "moving_average_update",
    "moving value",
    "",
    _move,
    infer=_infer_move,
    attrs="momentum:float",
    writes="moving",
    for_inference=lambda op: Rewrite(),
)


def _by_moving_averages(op: Operation) -> Rewrite | None:
    """Normalise by the moving averages that this op updates; without them the op is kept unchanged."""
    moving: dict[Any, Any] = {}
    for other in op.block.ops:
        if other.opdef is MOVING_AVERAGE and other.inputs[1] in op.outputs:
            moving[other.inputs[1]] = other.inputs[0]
    mean, variance = moving.get(op.outputs[1]), moving.get(op.outputs[3])
    if mean is None or variance is None:
        return None
    x, gamma, beta = op.inputs
    attrs = {**op.attrs, "training": False, "momentum": 0.0}
    return Rewrite(opdef=NORMALIZATION, inputs=(x, mean, variance, gamma, beta, None), attrs=attrs)


def _unbiased(x: Any, axis: int) -> float:
    count = int(np.prod([x.shape[i] for i in _others(len(x.shape), axis)]))
    return count / (count - 1) if count > 1 else 1.0


# ---- normalization: updates its moving averages in training ----------------------------------------------------------
@quiet
def _normalization(
    x: ndarray,
    moving_mean: ndarray,
    moving_variance: ndarray,
    gamma: ndarray,
    beta: ndarray,
    addend: ndarray | None,
    axis: int,
    epsilon: float,
    training: bool,
    momentum: float,
) -> Any:
    if training:
        y, mean, r, variance = _trained(x, gamma, beta, axis, epsilon)
        _move(moving_mean, mean, momentum)
        _move(moving_variance, variance * _unbiased(x, axis), momentum)
        return (y if addend is None else y + addend), mean, r
    r = 1 / np.sqrt(moving_variance + epsilon)
    columns = [_column(vector, x.ndim, axis) for vector in (moving_mean, r, gamma, beta)]
    y = _affine(x, *columns).astype(x.dtype, copy=False)
    return y if addend is None else y + addend


def _normalization_rule(applied: Any, douts: Values) -> Values:
    x, gamma, addend = (applied.inputs[i] for i in (0, 3, 5))
    by_addend = None if addend is None else douts[0]
    if not applied.attrs["training"]:
        return (*_fixed_grad(applied, douts[0]), by_addend)
    _, mean, r = applied.outputs
    attrs = {"axis": applied.attrs["axis"], "epsilon": applied.attrs["epsilon"]}
    d_gamma, d_beta, dx = perform(NORMALIZATION_GRAD, x, douts[0], mean, r, gamma, **attrs)
    return dx, None, None, d_gamma, d_beta, by_addend


def _fixed_grad(applied: Any, dy: Value) -> Values:
    x, mean, variance, gamma = applied.inputs[:4]
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    r = broadcast_like(rsqrt(scalar_add(variance, applied.attrs["epsilon"])), x, axes)
    h = mul(sub(x, broadcast_like(mean, x, axes)), r)
    dx = mul(dy, mul(r, broadcast_like(gamma, x, axes)))
    return dx, None, None, reduce_sum(mul(dy, h), axes), reduce_sum(dy, axes)


def _stop_training(op: Operation) -> Rewrite | None:
    if not op.attrs["training"]:
        return None
    return Rewrite(opdef=op.opdef, inputs=op.inputs, attrs={**op.attrs, "training": False})


NORMALIZATION = define(
    "normalization",
    "x moving_mean moving_variance gamma beta ?_add_to_output",
    "y ?mean ?inv_variance",
    _normalization,
    infer=_infer_statistics("normalization", 2, 4),
    attrs="axis:int32 epsilon:float training:bool momentum:float",
    grad=_normalization_rule,
    reads="x moving_mean moving_variance gamma mean inv_variance",
    writes="moving_mean moving_variance",
    writes_when="training",
    for_inference=_stop_training,
)


def batch_norm(
    x: Value,
    moving_mean: Value,
    moving_variance: Value,
    gamma: Value | None = None,
    beta: Value | None = None,
    *,
    training: bool,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    axis: int = 1,
    unbiased: bool = False,
) -> Value:
    """Return ``x`` normalised per channel, scaled and shifted.

    Args:
        x: any shape with an axis of channels.
        moving_mean: vector of the channels; in training it is updated in place:
            ``moving * momentum + batch * (1 - momentum)``.
        moving_variance: likewise.
        gamma: scale, or None for 1.
        beta: shift, or None for 0.
        training: normalise by the batch's statistics and update the moving ones; else by the moving ones.
        momentum: of the moving averages.
        epsilon: added to the variance.
        axis: the axis of channels.
        unbiased: the moving variance counts the batch's with n / (n - 1) (cuDNN does).
    """
    at = normal_axis(axis, ndim_of(x), "normalization")
    size, dtype = shape_of(moving_mean), dtype_of(moving_mean)
    gamma = constant(1.0, size, dtype) if gamma is None else gamma
    beta = constant(0.0, size, dtype) if beta is None else beta
    attrs = {"axis": at, "epsilon": float(epsilon)}
    if not training or unbiased:
        attrs = {**attrs, "training": bool(training), "momentum": float(momentum)}
        result = perform(NORMALIZATION, x, moving_mean, moving_variance, gamma, beta, None, **attrs)
        return result[0] if isinstance(result, tuple) else result  # a graph gives a tuple, of one in inference
    y, mean, _, variance = perform(BATCH_NORM, x, gamma, beta, **attrs)
    perform(MOVING_AVERAGE, moving_mean, mean, momentum=float(momentum))
    perform(MOVING_AVERAGE, moving_variance, variance, momentum=float(momentum))
    return y
