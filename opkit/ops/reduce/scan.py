"""Running sums and products along an axis.

Plain sums and products are in ``opkit.ops.basis.broadcasting`` and ``opkit.ops.reduce.extremes``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.arrange.shape import reshape
from opkit.ops.basis.arithmetic import div, mul
from opkit.ops.basis.creation import cast
from opkit.ops.core.define import define_map, quiet
from opkit.ops.core.inference import along
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.value import Value, ndim_of, normal_axis
from opkit.ops.pointwise.compare import equal, logical_and, where


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
