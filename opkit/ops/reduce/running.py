"""Running extremes and logarithmic sums along an axis.

Running sums and products are in ``opkit.ops.reduce.scan``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.arrange.matrix import tril
from opkit.ops.arrange.shape import expand_dims, reshape, squeeze, swapaxes
from opkit.ops.basis.arithmetic import mul, neg, sub
from opkit.ops.core.define import define, first_only, quiet
from opkit.ops.core.inference import unchanged, unchanged_floats
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Values
from opkit.ops.core.value import Value, ndim_of, normal_axis
from opkit.ops.linear.products import matmul
from opkit.ops.pointwise.elementwise import exp


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
