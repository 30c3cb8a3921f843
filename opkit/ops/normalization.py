"""Normalisation by statistics of the data: layer_norm over trailing axes, normalization (batch norm) per channel.

Both rest on one operator, the gradient of ``x -> (x - mean) * r`` with ``r = 1 / sqrt(variance + epsilon)``:
``D(dy) = r * (dy - mean(dy) - h * mean(dy * h))`` where ``h`` is the normalised x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.ir import TensorDesc
from opkit.ops.arithmetic import add, mul, neg, scalar_add, scalar_mul, sub
from opkit.ops.broadcasting import REDUCE_MEAN_GRAD, broadcast_like, reduce_mean, reduce_sum, reduce_sum_like
from opkit.ops.creation import constant
from opkit.ops.define import define, quiet
from opkit.ops.elementwise import rsqrt, square
from opkit.ops.inference import check_floating, is_same_size, shape_error, unchanged
from opkit.ops.mode import local
from opkit.ops.opdef import OpDef
from opkit.ops.value import Value, dtype_of, ndim_of, normal_axis, shape_of

__all__ = ["batch_norm", "instance_norm", "layer_norm"]


# ---- the operator, on arrays and on values ---------------------------------------------------------------------------
def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float16 else x


@quiet
def _statistics(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, variance and ``1 / sqrt(variance + epsilon)``, axes kept."""
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    variance = np.mean(np.square(centred, out=centred), axis=axes, keepdims=True)
    return mean, variance, 1 / np.sqrt(variance + epsilon)


@quiet
def _slope_of(dy: np.ndarray, h: np.ndarray, r: np.ndarray, axes: tuple[int, ...]) -> Any:
    inner = np.mean(dy * h, axis=axes, keepdims=True)
    dx = dy - dy.mean(axis=axes, keepdims=True)
    dx -= h * inner
    dx *= r
    return dx


def _slope(dy: Value, h: Value, r: Value, axes: Sequence[int]) -> Value:
    inner = reduce_mean(mul(dy, h), axes, keepdims=True)
    return mul(sub(sub(dy, reduce_mean(dy, axes, keepdims=True)), mul(h, inner)), r)


def _slope_by_x(dy: Value, g: Value, h: Value, r: Value, axes: Sequence[int]) -> Value:
    """Return the derivative of ``sum(g * D(dy))`` by x.

    With u = dy - mean(dy), v = g - mean(g), a = mean(dy * h), b = mean(g * h):
    ``-r*r * (h * (mean(u * v) - 3 * a * b) + b * u + a * v)``.
    """
    u = sub(dy, reduce_mean(dy, axes, keepdims=True))
    v = sub(g, reduce_mean(g, axes, keepdims=True))
    a = reduce_mean(mul(dy, h), axes, keepdims=True)
    b = reduce_mean(mul(g, h), axes, keepdims=True)
    along_h = mul(h, sub(reduce_mean(mul(u, v), axes, keepdims=True), scalar_mul(mul(a, b), 3.0)))
    return neg(mul(add(along_h, add(mul(b, u), mul(a, v))), square(r)))


# ---- layer_norm ------------------------------------------------------------------------------------------------------
def _tail(ndim: int, begin: int) -> tuple[int, ...]:
    return tuple(range(begin % ndim, ndim))


@quiet
def _layer_norm(
    x: np.ndarray,
    beta: np.ndarray | None,
    gamma: np.ndarray | None,
    center: bool,
    scale: bool,
    begin_norm_axis: int,
    begin_params_axis: int,
    epsilon: float,
) -> tuple[np.ndarray, ...]:
    axes = _tail(x.ndim, begin_norm_axis)
    wide = _wide(x)
    mean, _, r = _statistics(wide, axes, epsilon)
    h = wide - mean
    h *= r
    lead = x.shape[: axes[0]]
    statistics = (mean.reshape(lead).astype(x.dtype, copy=False), r.reshape(lead).astype(x.dtype, copy=False))
    h = h.astype(x.dtype, copy=False)
    y = h * gamma if gamma is not None else h
    if beta is not None:
        y = y + beta
    return (y, *statistics, h) if scale else (y, *statistics)


def _infer_layer_norm(descs: Sequence[TensorDesc | None], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    x = descs[0]
    if x is None or not x.ndim:
        raise shape_error("layer_norm", descs, "it takes a tensor with axes")
    check_floating("layer_norm", descs)
    axes = _tail(x.ndim, attrs["begin_norm_axis"])
    tail = x.shape[attrs["begin_params_axis"] % x.ndim :]
    for param in descs[1:]:
        if param is not None and (len(param.shape) != len(tail) or not all(map(is_same_size, param.shape, tail))):
            raise shape_error("layer_norm", descs, f"scale and shift must have the shape {tail}")
    statistic = TensorDesc(x.shape[: axes[0]], x.dtype)
    return [x, statistic, statistic, x] if attrs["scale"] else [x, statistic, statistic]


def _layer_norm_grad(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
    x, beta, gamma = applied.inputs
    mean, r = applied.outputs[1:3]
    dy, by_mean, by_r = douts[:3]
    by_h = douts[3] if len(douts) > 3 else None
    axes = _tail(len(shape_of(x)), applied.attrs["begin_norm_axis"])
    d_beta = d_gamma = dx = None
    if dy is not None:
        if beta is not None:
            d_beta = reduce_sum_like(dy, beta)
        if gamma is not None:
            d_gamma = reduce_sum_like(mul(dy, applied.outputs[3]), gamma)
            dy = mul(dy, gamma)
        by_h = dy if by_h is None else add(dy, by_h)
    if by_h is not None:
        attrs = {key: applied.attrs[key] for key in ("begin_norm_axis", "epsilon")}
        dx = local.mode.apply(LAYER_NORM_GRAD, (by_h, x, mean, r, None), attrs)
    if by_mean is not None or by_r is not None:
        through = _by_statistics(x, mean, r, by_mean, by_r, axes)
        dx = through if dx is None else add(dx, through)
    return dx, d_beta, d_gamma


def _share(cotangent: Value, x: Value, axes: Sequence[int]) -> Value:
    """Return the cotangent of a mean over the axes, spread: each element's share of it."""
    return local.mode.apply(REDUCE_MEAN_GRAD, (cotangent, x), {"axis": tuple(axes), "keepdims": False})


def _by_statistics(x: Value, mean: Value, r: Value, by_mean: Any, by_r: Any, axes: Sequence[int]) -> Value:
    """Return the cotangent of x through its mean and through ``r``, whose slope is ``-h * r * r / n``."""
    total = None if by_mean is None else _share(by_mean, x, axes)
    if by_r is not None:
        r = broadcast_like(r, x, axes)
        h = mul(sub(x, broadcast_like(mean, x, axes)), r)
        through = neg(mul(mul(h, square(r)), _share(by_r, x, axes)))
        total = through if total is None else add(total, through)
    return total


@quiet
def _layer_norm_slope(
    dy: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    inv_variance: np.ndarray,
    addend: np.ndarray | None,
    begin_norm_axis: int,
    epsilon: float,
) -> Any:
    axes = _tail(x.ndim, begin_norm_axis)
    kept = (*mean.shape, *(1,) * len(axes))
    r = _wide(inv_variance.reshape(kept))
    h = _wide(x) - _wide(mean.reshape(kept))
    h *= r
    dx = _slope_of(_wide(dy), h, r, axes).astype(x.dtype, copy=False)
    return dx if addend is None else dx + addend


def _layer_norm_slope_grad(applied: Any, douts: Sequence[Value]) -> Sequence[Any]:
    # mean and inv_variance are functions of x: their share is in the derivative by x
    dy, x, mean, r, addend = applied.inputs
    g, axes = douts[0], _tail(len(shape_of(x)), applied.attrs["begin_norm_axis"])
    by_x = None
    if applied.needs[1]:
        wide_r = broadcast_like(r, x, axes)
        h = mul(sub(x, broadcast_like(mean, x, axes)), wide_r)
        by_x = _slope_by_x(dy, g, h, wide_r, axes)
    by_dy = local.mode.apply(LAYER_NORM_GRAD, (g, x, mean, r, None), applied.attrs)
    return by_dy, by_x, None, None, None if addend is None else g


LAYER_NORM_GRAD: OpDef = define(
    "layer_norm_grad",
    "dy x mean inv_variance ?_add_to_output",
    "dx",
    _layer_norm_slope,
    infer=unchanged("layer_norm_grad"),
    attrs="begin_norm_axis:int64 epsilon:double",
    grad=_layer_norm_slope_grad,
    reads="dy x mean inv_variance",
)
LAYER_NORM: OpDef = define(
    "layer_norm",
    "x ?beta ?gamma",
    "y mean inv_variance ?normalized",
    _layer_norm,
    infer=_infer_layer_norm,
    attrs="center:bool scale:bool begin_norm_axis:int64 begin_params_axis:int64 epsilon:double",
    grad=_layer_norm_grad,
    reads="x gamma mean inv_variance normalized",
)


def layer_norm(
    x: Value, gamma: Value | None = None, beta: Value | None = None, axis: int = 1, epsilon: float = 1e-5
) -> tuple[Value, Value, Value]:
    """Return ``x`` normalised over the axes from ``axis`` on, scaled and shifted, with the statistics.

    Args:
        x: ``(lead..., tail...)``.
        gamma: scale of the tail's shape, or None.
        beta: shift of the tail's shape, or None.
        axis: where the tail begins.
        epsilon: added to the variance.

    Returns:
        ``(y, mean, 1 / sqrt(variance + epsilon))``; the statistics have the lead's shape.
    """
    begin = normal_axis(axis, ndim_of(x), "layer_norm")
    attrs = {
        "center": beta is not None,
        "scale": gamma is not None,
        "begin_norm_axis": begin,
        "begin_params_axis": begin,
        "epsilon": float(epsilon),
    }
    results = local.mode.apply(LAYER_NORM, (x, beta, gamma), attrs)
    return results[0], results[1], results[2]


# ---- batch norm ------------------------------------------------------------------------------------------------------
def _others(ndim: int, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i != axis % ndim)


def _column(vector: np.ndarray, ndim: int, axis: int) -> np.ndarray:
    return vector.reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])


@quiet
def _affine(x: np.ndarray, mean: np.ndarray, r: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> Any:
    factor = r * gamma
    y = x * factor
    y += beta - mean * factor
    return y


def _trained(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, axis: int, epsilon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    wide = _wide(x)
    mean, variance, r = _statistics(wide, _others(x.ndim, axis), epsilon)
    h = wide - mean
    h *= r * _column(gamma, x.ndim, axis)
    h += _column(beta, x.ndim, axis)
    return h.astype(x.dtype, copy=False), mean.reshape(-1), r.reshape(-1), variance.reshape(-1)


def _infer_statistics(op: str, count: int) -> Any:
    def infer(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
        x = descs[0]
        check_floating(op, [x])
        axis = normal_axis(attrs["axis"], x.ndim, op)
        for param in descs[1:]:
            if param is not None and (param.ndim != 1 or not is_same_size(param.shape[0], x.shape[axis])):
                if param.ndim == x.ndim:
                    continue
                raise shape_error(op, descs, f"the parameters must be vectors of the size of axis {axis}")
        vector = TensorDesc((x.shape[axis],), "float32" if x.dtype == "float16" else x.dtype)
        return [x, *[vector] * (count if attrs.get("training", True) else 0)]

    return infer


def _trained_grad(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
    x, gamma, _ = applied.inputs
    mean, r = applied.outputs[1:3]
    dy, by_mean, by_r, by_variance = douts
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    dx = d_gamma = d_beta = None
    if dy is not None:
        attrs = {"axis": applied.attrs["axis"], "epsilon": applied.attrs["epsilon"]}
        d_gamma, d_beta, dx = local.mode.apply(NORMALIZATION_GRAD, (x, dy, mean, r, gamma), attrs)
    if by_variance is not None:
        centred = sub(x, broadcast_like(mean, x, axes))
        through = scalar_mul(mul(centred, _share(by_variance, x, axes)), 2.0)
        dx = through if dx is None else add(dx, through)
    if by_mean is not None or by_r is not None:
        through = _by_statistics(x, mean, r, by_mean, by_r, axes)
        dx = through if dx is None else add(dx, through)
    return dx, d_gamma, d_beta


@quiet
def _normalization_slope(
    x: np.ndarray,
    dy: np.ndarray,
    mean: np.ndarray,
    inv_variance: np.ndarray,
    gamma: np.ndarray,
    axis: int,
    epsilon: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    axes = _others(x.ndim, axis)
    r = _column(inv_variance, x.ndim, axis)
    h = _wide(x) - _column(mean, x.ndim, axis)
    h *= r
    wide = _wide(dy)
    d_gamma, d_beta = np.add.reduce(wide * h, axes), np.add.reduce(wide, axes)
    dx = _slope_of(wide, h, r * _column(gamma, x.ndim, axis), axes)
    return (
        d_gamma.astype(gamma.dtype, copy=False),
        d_beta.astype(gamma.dtype, copy=False),
        dx.astype(x.dtype, copy=False),
    )


def _normalization_slope_grad(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
    # d_gamma = sum(dy * h), d_beta = sum(dy), dx = gamma * D(dy)
    x, dy, mean, r, gamma = applied.inputs
    g_gamma, g_beta, g = douts
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    r, gamma = broadcast_like(r, x, axes), broadcast_like(gamma, x, axes)
    h = mul(sub(x, broadcast_like(mean, x, axes)), r)
    by_x, by_dy, by_gamma = [], [], None
    if g is not None:
        by_dy.append(mul(gamma, _slope(g, h, r, axes)))
        by_x.append(mul(gamma, _slope_by_x(dy, g, h, r, axes)))
        by_gamma = reduce_sum(mul(g, _slope(dy, h, r, axes)), axes)
    if g_gamma is not None:
        wide = broadcast_like(g_gamma, x, axes)
        by_dy.append(mul(wide, h))
        by_x.append(mul(wide, _slope(dy, h, r, axes)))
    if g_beta is not None:
        by_dy.append(broadcast_like(g_beta, x, axes))
    return _sum(by_x), _sum(by_dy), None, None, by_gamma


def _sum(parts: list[Value]) -> Value | None:
    total = None
    for part in parts:
        total = part if total is None else add(total, part)
    return total


def _infer_normalization_slope(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    return [descs[4], descs[4], descs[0]]


NORMALIZATION_GRAD: OpDef = define(
    "normalization_grad",
    "x dy mean inv_variance gamma",
    "gamma_diff beta_diff dx",
    _normalization_slope,
    infer=_infer_normalization_slope,
    attrs="axis:int32 epsilon:float",
    grad=_normalization_slope_grad,
    reads="x dy mean inv_variance gamma",
)
BATCH_NORM: OpDef = define(
    "batch_norm_train",
    "x gamma beta",
    "y mean inv_variance variance",
    _trained,
    infer=_infer_statistics("batch_norm_train", 3),
    attrs="axis:int32 epsilon:float",
    grad=_trained_grad,
    reads="x gamma mean inv_variance",
)


# ---- moving averages -------------------------------------------------------------------------------------------------
def _move(moving: np.ndarray, value: np.ndarray, momentum: float) -> tuple[()]:
    moving *= momentum
    moving += value * (1 - momentum)
    return ()


MOVING_AVERAGE: OpDef = define(
    "moving_average_update",
    "moving value",
    "",
    _move,
    infer=lambda descs, attrs: [],
    attrs="momentum:float",
    side_effect=True,
)


def _unbiased(x: Any, axis: int) -> float:
    count = int(np.prod([x.shape[i] for i in _others(len(x.shape), axis)]))
    return count / (count - 1) if count > 1 else 1.0


# ---- OneFlow's normalization: updates its moving averages in training ------------------------------------------------
def _normalization(
    x: np.ndarray,
    moving_mean: np.ndarray,
    moving_variance: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    addend: np.ndarray | None,
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


def _normalization_rule(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
    x, gamma, addend = (applied.inputs[i] for i in (0, 3, 5))
    by_addend = None if addend is None else douts[0]
    if not applied.attrs["training"]:
        return (*_fixed_grad(applied, douts[0]), by_addend)
    _, mean, r = applied.outputs
    attrs = {"axis": applied.attrs["axis"], "epsilon": applied.attrs["epsilon"]}
    d_gamma, d_beta, dx = local.mode.apply(NORMALIZATION_GRAD, (x, douts[0], mean, r, gamma), attrs)
    return dx, None, None, d_gamma, d_beta, by_addend


def _fixed_grad(applied: Any, dy: Value) -> Sequence[Any]:
    x, mean, variance, gamma = applied.inputs[:4]
    axes = _others(len(shape_of(x)), applied.attrs["axis"])
    r = broadcast_like(rsqrt(scalar_add(variance, applied.attrs["epsilon"])), x, axes)
    h = mul(sub(x, broadcast_like(mean, x, axes)), r)
    dx = mul(dy, mul(r, broadcast_like(gamma, x, axes)))
    return dx, None, None, reduce_sum(mul(dy, h), axes), reduce_sum(dy, axes)


NORMALIZATION: OpDef = define(
    "normalization",
    "x moving_mean moving_variance gamma beta ?_add_to_output",
    "y ?mean ?inv_variance",
    _normalization,
    infer=_infer_statistics("normalization", 2),
    attrs="axis:int32 epsilon:float training:bool momentum:float",
    grad=_normalization_rule,
    reads="x moving_mean moving_variance gamma mean inv_variance",
    side_effect=True,
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
        unbiased: the moving variance counts the batch's with n / (n - 1) (cuDNN; Paddle on a CPU does not).
    """
    at = normal_axis(axis, ndim_of(x), "normalization")
    size, dtype = shape_of(moving_mean), dtype_of(moving_mean)
    gamma = constant(1.0, size, dtype) if gamma is None else gamma
    beta = constant(0.0, size, dtype) if beta is None else beta
    attrs = {"axis": at, "epsilon": float(epsilon)}
    if not training or unbiased:
        attrs = {**attrs, "training": bool(training), "momentum": float(momentum)}
        result = local.mode.apply(NORMALIZATION, (x, moving_mean, moving_variance, gamma, beta, None), attrs)
        return result[0] if training else result
    y, mean, _, variance = local.mode.apply(BATCH_NORM, (x, gamma, beta), attrs)
    local.mode.apply(MOVING_AVERAGE, (moving_mean, mean), {"momentum": float(momentum)})
    local.mode.apply(MOVING_AVERAGE, (moving_variance, variance), {"momentum": float(momentum)})
    return y


def instance_norm(x: Value, gamma: Value | None = None, beta: Value | None = None, epsilon: float = 1e-5) -> Value:
    """Return ``(N, C, ...)`` normalised over the axes behind the channels, scaled and shifted per channel."""
    axes = tuple(range(2, ndim_of(x)))
    centred = sub(x, reduce_mean(x, axes, keepdims=True))
    y = mul(centred, rsqrt(scalar_add(reduce_mean(square(centred), axes, keepdims=True), float(epsilon))))
    others = _others(ndim_of(x), 1)
    if gamma is not None:
        y = mul(y, broadcast_like(gamma, x, others))
    return y if beta is None else add(y, broadcast_like(beta, x, others))
