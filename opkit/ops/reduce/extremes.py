"""Reductions whose gradient needs arithmetic: max, min, prod, any, all, and the positions of extremes.

Sums and means are in ``opkit.ops.basis.broadcasting``, logsumexp in ``opkit.ops.reduce.log_space``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, ShapeError
from opkit.ir import TensorDesc, canonical_dtype
from opkit.ops.basis.arithmetic import div, mul, scalar_div, scalar_mul, sub
from opkit.ops.basis.broadcasting import (
    add_reduce,
    broadcast_like,
    infer_reduce,
    reduce_mean,
    reduce_sum,
    reduced_shape,
)
from opkit.ops.basis.creation import cast, cast_like, ones_like
from opkit.ops.core.define import define, define_map, first_only, quiet
from opkit.ops.core.inference import numel
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Ints, Out
from opkit.ops.core.value import Value, desc_of, dtype_of, ndim_of, normal_axes, normal_axis, shape_of
from opkit.ops.pointwise.compare import equal
from opkit.ops.pointwise.elementwise import abs as absolute
from opkit.ops.pointwise.elementwise import reciprocal_no_nan, sqrt, square
from opkit.ops.pointwise.power import pow as power

_ATTRS = "axis:vector<int32> keepdims:bool"


# ---- max, min --------------------------------------------------------------------------------------------------------
def _extreme(name: str, ufunc: Any, *, shares: bool) -> OpDef:
    """Define a reduction to an extreme; among equal ones each gets the whole cotangent, or a share of it."""

    @quiet
    def kernel(input_tensor: ndarray, axis: Ints, keepdims: bool, out: Out = None) -> Any:
        axes = tuple(axis) or None
        if not input_tensor.size and ufunc.reduce(np.ones(input_tensor.shape), axes, initial=0).size:
            raise ShapeError(
                f"op {name!r} got a tensor of shape {input_tensor.shape}: there are no elements to choose from"
            )
        return ufunc.reduce(input_tensor, axes, None, out, keepdims)

    def rule(applied: Any, dout: Value) -> Value:
        x, axis = applied.inputs[0], applied.attrs["axis"]
        chosen = cast_like(equal(x, broadcast_like(applied.outputs[0], x, axis)), dout)
        if shares:
            count = perform(REDUCE_COUNT, chosen, **applied.attrs)
            dout = div(dout, count)
        return mul(broadcast_like(dout, x, axis), chosen)

    names = ("input_tensor", "output_tensor")
    return define_map(
        name, kernel, rule, names=names, infer=infer_reduce(name), attrs=_ATTRS, reads=" ".join(names), out=kernel
    )


def _count(x: ndarray, axis: Ints, keepdims: bool) -> Any:
    return add_reduce(x, tuple(axis) or None, x.dtype, None, keepdims)


REDUCE_COUNT = define("reduce_count", "x", "y", _count, infer=infer_reduce("reduce_count"), attrs=_ATTRS)
REDUCE_MAX = _extreme("reduce_max", np.maximum, shares=True)
REDUCE_MIN = _extreme("reduce_min", np.minimum, shares=True)
REDUCE_MAX_ALL = _extreme("reduce_max_each", np.maximum, shares=False)
REDUCE_MIN_ALL = _extreme("reduce_min_each", np.minimum, shares=False)


def _reduce(opdef: OpDef, x: Value, axis: Any, keepdims: bool) -> Value:
    axes = () if axis is None else normal_axes(axis, ndim_of(x), opdef.name)
    return local.mode.apply(opdef, (x,), {"axis": axes, "keepdims": bool(keepdims)})


def reduce_max(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the largest over axes; each of several equal ones gets the whole gradient.

    Source: Paddle 2.6, max.
    """
    return _reduce(REDUCE_MAX_ALL, x, axis, keepdims)


def reduce_min(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the smallest over axes; each of several equal ones gets the whole gradient.

    Source: Paddle 2.6, min.
    """
    return _reduce(REDUCE_MIN_ALL, x, axis, keepdims)


def amax(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the largest over axes; several equal ones share the gradient.

    Source: Paddle 2.6, amax; OneFlow v0.4, reduce_max.
    """
    return _reduce(REDUCE_MAX, x, axis, keepdims)


def amin(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the smallest over axes; several equal ones share the gradient.

    Source: Paddle 2.6, amin.
    """
    return _reduce(REDUCE_MIN, x, axis, keepdims)


# ---- prod ------------------------------------------------------------------------------------------------------------
_multiply_reduce: Function = np.multiply.reduce


@quiet
def _prod(input_tensor: ndarray, axis: Ints, keepdims: bool, out: Out = None) -> Any:
    return _multiply_reduce(input_tensor, tuple(axis) or None, input_tensor.dtype, out, keepdims)


@quiet
def _prod_others(x: ndarray, axis: Ints) -> Any:
    """Return, for each element, the product of all others along the axes: exact where elements are 0."""
    axes = tuple(axis) or tuple(range(x.ndim))
    kept = [i for i in range(x.ndim) if i not in axes]
    order = [*kept, *axes]
    rows = x.transpose(order).reshape(*[x.shape[i] for i in kept], -1)
    ones = np.ones((*rows.shape[:-1], 1), x.dtype)
    before = np.multiply.accumulate(np.concatenate([ones, rows[..., :-1]], -1), -1)
    after = np.multiply.accumulate(np.concatenate([ones, rows[..., :0:-1]], -1), -1)[..., ::-1]
    others = (before * after).reshape([x.shape[i] for i in order])
    return others.transpose(np.argsort(order))


def _prod_others_grad(applied: Any, dout: Value) -> Value:
    # d(prod of others of i)/dx_j is the product of all but i and j: P / (x_i x_j) for elements that are not 0
    x, axis = applied.inputs[0], applied.attrs["axis"]
    others = applied.outputs[0]
    weighted = mul(dout, others)
    total = broadcast_like(reduce_sum(weighted, axis or None, keepdims=True), x)
    return div(sub(total, weighted), x)


def _prod_grad(applied: Any, dout: Value) -> Value:
    x, axis = applied.inputs[0], applied.attrs["axis"]
    return mul(broadcast_like(dout, x, axis), perform(PROD_OTHERS, x, axis=axis))


PROD_OTHERS = define_map("prod_of_others", _prod_others, _prod_others_grad, attrs="axis:vector<int32>", reads="x y")
REDUCE_PROD = define(
    "reduce_prod",
    "input_tensor",
    "output_tensor",
    _prod,
    infer=infer_reduce("reduce_prod"),
    attrs=_ATTRS,
    grad=first_only(_prod_grad),
    reads="input_tensor",
    out=_prod,
)


def reduce_prod(x: Value, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Value:
    """Return the product over axes; its gradient is correct at zeros too."""
    return _reduce(REDUCE_PROD, x if dtype is None else cast(x, dtype), axis, keepdims)


# ---- any, all --------------------------------------------------------------------------------------------------------
def _logic(name: str, ufunc: Any) -> OpDef:
    def kernel(input_tensor: ndarray, axis: Ints, keepdims: bool, out: Out = None) -> Any:
        # Source: OneFlow v0.4, whose operands are int8, and so are its results; a bool stays a bool
        result = ufunc.reduce(input_tensor.astype(bool, copy=False), tuple(axis) or None, None, None, keepdims)
        result = np.asarray(result).astype(input_tensor.dtype, copy=False)
        if out is None:
            return result
        out[...] = result
        return out

    return define(name, "input_tensor", "output_tensor", kernel, infer=infer_reduce(name), attrs=_ATTRS, out=kernel)


REDUCE_ANY = _logic("reduce_any", np.logical_or)
REDUCE_ALL = _logic("reduce_all", np.logical_and)


def reduce_any(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return whether any is true over axes, in the dtype of ``x``."""
    return _reduce(REDUCE_ANY, x, axis, keepdims)


def reduce_all(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return whether all are true over axes, in the dtype of ``x``."""
    return _reduce(REDUCE_ALL, x, axis, keepdims)


# ---- argmax, argmin --------------------------------------------------------------------------------------------------
def _position(name: str, find: Function) -> OpDef:
    def kernel(x: ndarray, axis: int, keepdims: bool, flatten: bool, dtype: str) -> Any:
        found = find(x, axis=None if flatten else axis, keepdims=keepdims)
        return np.asarray(found).astype(dtype)

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        x = descs[0]
        axes = tuple(range(x.ndim)) if attrs["flatten"] else (normal_axis(attrs["axis"], x.ndim, name),)
        return [TensorDesc(reduced_shape(x.shape, axes, attrs["keepdims"]), attrs["dtype"])]

    return define(
        name,
        "in",
        "out",
        kernel,
        infer=infer,
        attrs="axis:int32 keepdims:bool flatten:bool dtype:data_type",
        defaults={"axis": -1, "dtype": "int32"},
    )


# Source: OneFlow v0.4, whose argmax is over the last axis and gives int32: the defaults.
ARGMAX = _position("argmax", np.argmax)
ARGMIN = _position("argmin", np.argmin)


def _arg(opdef: OpDef, x: Value, axis: int | None, keepdims: bool, dtype: Any) -> Value:
    at = -1 if axis is None or not ndim_of(x) else normal_axis(axis, ndim_of(x), opdef.name)
    attrs = {
        "axis": at,
        "keepdims": bool(keepdims),
        "flatten": axis is None or not ndim_of(x),
        "dtype": canonical_dtype(dtype),
    }
    return local.mode.apply(opdef, (x,), attrs)


def argmax(x: Value, axis: int | None = None, keepdims: bool = False, dtype: Any = "int64") -> Value:
    """Return the index of the (first) largest along an axis; left out: in the flattened tensor."""
    return _arg(ARGMAX, x, axis, keepdims, dtype)


def argmin(x: Value, axis: int | None = None, keepdims: bool = False, dtype: Any = "int64") -> Value:
    """Return the index of the (first) smallest along an axis; left out: in the flattened tensor."""
    return _arg(ARGMIN, x, axis, keepdims, dtype)


# ---- variance, norms: built of ops -----------------------------------------------------------------------------------
def _need_floating(op: str, x: Value) -> None:
    if dtype_of(x).kind not in "fc":
        raise DtypeError(f"op {op!r} got {desc_of(x)}: it takes floating-point tensors", help="cast it first")


def var(x: Value, axis: Any = None, keepdims: bool = False, unbiased: bool = True) -> Value:
    """Return the variance over axes; unbiased: divided by the count less one (of one element: NaN)."""
    _need_floating("var", x)
    axes = normal_axes(axis, ndim_of(x), "var")
    centred = square(sub(x, reduce_mean(x, axes, keepdims=True)))
    if not unbiased:
        return reduce_mean(centred, axes, keepdims)
    total = reduce_sum(centred, axes, keepdims)
    count = numel([shape_of(x)[i] for i in axes])
    if count == -1:  # counted when the program runs
        return div(total, sub(reduce_sum(ones_like(x), axes, keepdims), 1))
    return scalar_div(total, count - 1) if count > 1 else scalar_mul(total, float("nan"))


def std(x: Value, axis: Any = None, keepdims: bool = False, unbiased: bool = True) -> Value:
    """Return the standard deviation over axes."""
    return sqrt(var(x, axis, keepdims, unbiased))


def norm(x: Value, p: float = 2.0, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the p-norm over axes: ``sum(|x|**p) ** (1/p)``, largest or smallest |x| for infinite p."""
    size = absolute(x)
    if p == float("inf"):
        return reduce_max(size, axis, keepdims)
    if p == -float("inf"):
        return reduce_min(size, axis, keepdims)
    if p == 0:
        return reduce_sum(cast(cast(size, "bool"), dtype_of(x)), axis, keepdims)
    if p == 1:
        return reduce_sum(size, axis, keepdims)
    if p == 2:
        _need_floating("norm", x)
        axes = normal_axes(axis, ndim_of(x), "norm")
        return local.mode.apply(NORM2, (x,), {"axis": axes, "keepdims": bool(keepdims)})
    return power(reduce_sum(power(size, p), axis, keepdims), 1.0 / p)


@quiet
def _norm2(x: ndarray, axis: Ints, keepdims: bool) -> Any:
    return np.sqrt(add_reduce(x * x, tuple(axis) or None, x.dtype, None, keepdims))


def _norm2_grad(applied: Any, dout: Value) -> Value:
    # x / |x|, and 0 where the norm is 0
    x, axis = applied.inputs[0], applied.attrs["axis"]
    size = applied.outputs[0]
    return mul(x, broadcast_like(mul(dout, reciprocal_no_nan(size)), x, axis))


NORM2 = define_map("norm2", _norm2, _norm2_grad, infer=infer_reduce("norm2"), attrs=_ATTRS, reads="x y")
