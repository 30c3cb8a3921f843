"""Running sums and products along an axis.

Plain sums and products are in ``opkit.ops.basis.broadcasting`` and ``opkit.ops.reduce.extremes``.

Running extremes and logarithmic sums along an axis.

Running sums and products are in ``opkit.ops.reduce.scan``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.arrange.matrix import tril
from opkit.ops.arrange.shape import expand_dims, reshape, squeeze, swapaxes
from opkit.ops.basis.arithmetic import div, mul, neg, sub
from opkit.ops.basis.creation import cast
from opkit.ops.core.define import define, define_map, first_only, quiet
from opkit.ops.core.inference import along, unchanged, unchanged_floats
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Values
from opkit.ops.core.value import Value, ndim_of, normal_axis
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.compare import equal, logical_and, where
from opkit.ops.pointwise.elementwise import exp


# ---- cumsum ----------------------------------------------------------------------------------------------------------
@quiet
def _cumsum(x: ndarray, axis: int, reverse: bool) -> ndarray:
    if reverse:
        return np.flip(np.add.accumulate(np.flip(x, axis), axis, x.dtype), axis)
    return np.add.accumulate(x, axis, x.dtype)


CUMSUM: OpDef = define_map(
    "cumsum",
    _cumsum,
    lambda applied, dout: perform(CUMSUM, dout, axis=applied.attrs["axis"], reverse=not applied.attrs["reverse"]),
    attrs="axis:int32 reverse:bool",
    infer=along("cumsum"),
)


def cumsum(x: Value, axis: int | None = None) -> Value:
    """Return the running sums along an axis; left out: of the flattened tensor."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return local.mode.apply(CUMSUM, (x,), {"axis": normal_axis(axis, ndim_of(x), "cumsum"), "reverse": False})


# ---- cumprod ---------------------------------------------------------------------------------------------------------
@quiet
def _cumprod(x: ndarray, axis: int) -> ndarray:
    return np.multiply.accumulate(x, axis, x.dtype)


def _behind(values: Value, axis: int) -> Value:
    return perform(CUMSUM, values, axis=axis, reverse=True)


def _cumprod_rule(applied: Any, dout: Value) -> Value:
    # sum(dout * y) from here on, divided by x; at the first zero, the same with a 1 in its place; behind it 0
    x, axis = applied.inputs[0], applied.attrs["axis"]
    is_zero = equal(x, 0)
    first = logical_and(is_zero, equal(cumsum(cast(is_zero, "int64"), axis), 1))
    without = perform(CUMPROD, where(first, 1, x), **applied.attrs)
    elsewhere = div(_behind(mul(dout, applied.outputs[0]), axis), where(is_zero, 1, x))
    return where(first, _behind(mul(dout, without), axis), where(is_zero, 0, elsewhere))


CUMPROD = define_map("cumprod", _cumprod, _cumprod_rule, attrs="axis:int32", reads="x y", infer=along("cumprod"))


def cumprod(x: Value, axis: int) -> Value:
    """Return the running products along an axis."""
    return local.mode.apply(CUMPROD, (x,), {"axis": normal_axis(axis, ndim_of(x), "cumprod")})


# ---- logcumsumexp ----------------------------------------------------------------------------------------------------
@quiet
def _logcumsumexp(x: ndarray, axis: int) -> ndarray:
    return np.logaddexp.accumulate(x, axis, x.dtype)


@quiet
def _logcumsumexp_slope(x: ndarray, y: ndarray, dy: ndarray, axis: int) -> ndarray:
    """Return ``sum over i from j on of dy[i] * exp(x[j] - y[i])``; y never falls, so that no factor exceeds 1."""
    x, y, dy = (np.moveaxis(item, axis, 0) for item in (x, y, dy))
    total = np.zeros(x.shape[1:], x.dtype)
    slope = np.empty(x.shape, x.dtype)
    for j in range(len(x) - 1, -1, -1):
        if j + 1 < len(x):
            total = total * np.exp(y[j] - y[j + 1])
        total = total + dy[j]
        slope[j] = total * np.exp(x[j] - y[j])
    return np.ascontiguousarray(np.moveaxis(slope, 0, axis))


def _slope_rule(applied: Any, douts: Values) -> Values:
    axis = applied.attrs["axis"]
    x, y, dy, g = (swapaxes(item, axis, -1) for item in (*applied.inputs, douts[0]))
    shares = exp(tril(sub(expand_dims(x, -2), expand_dims(y, -1)), 0, float("-inf")))
    along = squeeze(matmul(shares, expand_dims(g, -1)), -1)
    across = squeeze(matmul(expand_dims(dy, -2), shares), -2)
    return tuple(swapaxes(item, axis, -1) for item in (mul(g, across), neg(mul(dy, along)), along))


LOGCUMSUMEXP_GRAD = define(
    "logcumsumexp_grad",
    "x y dy",
    "dx",
    _logcumsumexp_slope,
    infer=unchanged,
    attrs="axis:int32",
    grad=_slope_rule,
    reads="x y dy",
)
LOGCUMSUMEXP = define(
    "logcumsumexp",
    "x",
    "y",
    _logcumsumexp,
    infer=unchanged_floats("logcumsumexp"),
    attrs="axis:int32",
    grad=first_only(
        lambda applied, dout: perform(LOGCUMSUMEXP_GRAD, applied.inputs[0], applied.outputs[0], dout, **applied.attrs)
    ),
    reads="x y",
)


def logcumsumexp(x: Value, axis: int | None = None) -> Value:
    """Return the logarithms of the running sums of exponentials along an axis; left out: of the flattened tensor."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return perform(LOGCUMSUMEXP, x, axis=normal_axis(axis, ndim_of(x), "logcumsumexp"))
