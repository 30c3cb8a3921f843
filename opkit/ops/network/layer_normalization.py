"""Normalisation within a sample: layer_norm over trailing axes, instance_norm over those behind the channels.

Normalisation over the batch is in ``opkit.ops.network.batch_normalization``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.basis.arithmetic import add, mul, plus, scalar_add, sub
from opkit.ops.basis.broadcasting import broadcast_like, reduce_mean, reduce_sum_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, is_same_size, shape_error, unchanged
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of
from opkit.ops.kernels.blocks import BLOCK
from opkit.ops.network.statistics import slope_by_x, wide_of, with_statistics
from opkit.ops.pointwise.elementwise import rsqrt, square


# ---- layer_norm ------------------------------------------------------------------------------------------------------
def _tail(ndim: int, begin: int) -> tuple[int, ...]:
    return tuple(range(begin % ndim, ndim))


@quiet
def _layer_norm(
    x: ndarray,
    beta: ndarray | None,
    gamma: ndarray | None,
    center: bool,
    scale: bool,
    begin_norm_axis: int,
    begin_params_axis: int,
    epsilon: float,
) -> tuple[ndarray, ...]:
    begin = begin_norm_axis % x.ndim
    lead, width = x.shape[:begin], int(np.prod(x.shape[begin:]))
    rows = wide_of(x).reshape(-1, width)
    h = np.empty(rows.shape, rows.dtype)
    mean, r = np.empty((len(rows), 1), rows.dtype), np.empty((len(rows), 1), rows.dtype)
    for part in _row_parts(len(rows), width):
        mean[part] = rows[part].mean(axis=1, keepdims=True)
        centred = np.subtract(rows[part], mean[part], out=h[part])
        r[part] = 1 / np.sqrt(np.vecdot(centred, centred)[:, None] / width + epsilon)
        centred *= r[part]
    h = h.reshape(x.shape).astype(x.dtype, copy=False)
    statistics = (mean.reshape(lead).astype(x.dtype, copy=False), r.reshape(lead).astype(x.dtype, copy=False))
    if gamma is not None:
        y = h * gamma
        if beta is not None:
            y += beta
    else:
        y = h.copy() if beta is None else h + beta
    return (y, *statistics, h) if scale else (y, *statistics)


def _row_parts(count: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, count, step))


def _infer_layer_norm(descs: Sequence[TensorDesc | None], attrs: Attrs) -> Descs:
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


def _layer_norm_grad(applied: Any, douts: Values) -> Values:
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
        by_h = plus(dy, by_h)
    if by_h is not None:
        attrs = {key: applied.attrs[key] for key in ("begin_norm_axis", "epsilon")}
        dx = perform(LAYER_NORM_GRAD, by_h, x, mean, r, None, **attrs)
    return with_statistics(dx, x, mean, r, by_mean, by_r, axes), d_beta, d_gamma


@quiet
def _layer_norm_slope(
    dy: ndarray,
    x: ndarray,
    mean: ndarray,
    inv_variance: ndarray,
    addend: ndarray | None,
    begin_norm_axis: int,
    epsilon: float,
) -> Any:
    width = int(np.prod(x.shape[begin_norm_axis % x.ndim :]))
    rows, cotangents = wide_of(x).reshape(-1, width), wide_of(dy).reshape(-1, width)
    centre, r = wide_of(mean).reshape(-1, 1), wide_of(inv_variance).reshape(-1, 1)
    result = np.empty(rows.shape, rows.dtype)
    for part in _row_parts(len(rows), width):
        h = rows[part] - centre[part]
        h *= r[part]
        inner = np.vecdot(cotangents[part], h)[:, None] / width
        dx = np.subtract(cotangents[part], cotangents[part].mean(axis=1, keepdims=True), out=result[part])
        h *= inner
        dx -= h
        dx *= r[part]
    total = result.reshape(x.shape).astype(x.dtype, copy=False)
    return total if addend is None else total + addend


def _layer_norm_slope_grad(applied: Any, douts: Values) -> Values:
    # mean and inv_variance are functions of x: their share is in the derivative by x
    dy, x, mean, r, addend = applied.inputs
    g, axes = douts[0], _tail(len(shape_of(x)), applied.attrs["begin_norm_axis"])
    by_x = None
    if applied.needs[1]:
        wide_r = broadcast_like(r, x, axes)
        h = mul(sub(x, broadcast_like(mean, x, axes)), wide_r)
        by_x = slope_by_x(dy, g, h, wide_r, axes)
    by_dy = perform(LAYER_NORM_GRAD, g, x, mean, r, None, **applied.attrs)
    return by_dy, by_x, None, None, None if addend is None else g


LAYER_NORM_GRAD = define(
    "layer_norm_grad",
    "dy x mean inv_variance ?_add_to_output",
    "dx",
    _layer_norm_slope,
    infer=unchanged,
    attrs="begin_norm_axis:int64 epsilon:double",
    grad=_layer_norm_slope_grad,
    reads="dy x mean inv_variance",
)
LAYER_NORM = define(
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


# ---- instance norm ---------------------------------------------------------------------------------------------------
def instance_norm(x: Value, gamma: Value | None = None, beta: Value | None = None, epsilon: float = 1e-5) -> Value:
    """Return ``(N, C, ...)`` normalised over the axes behind the channels, scaled and shifted per channel."""
    axes = tuple(range(2, ndim_of(x)))
    centred = sub(x, reduce_mean(x, axes, keepdims=True))
    y = mul(centred, rsqrt(scalar_add(reduce_mean(square(centred), axes, keepdims=True), float(epsilon))))
    others = (0, *range(2, ndim_of(x)))
    if gamma is not None:
        y = mul(y, broadcast_like(gamma, x, others))
    return y if beta is None else add(y, broadcast_like(beta, x, others))
