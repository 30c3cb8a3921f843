"""Sums and means over axes, and broadcasting: each is the other's gradient. All other families use these.

Reductions that need arithmetic for their gradient (max, prod, logsumexp) are in ``opkit.ops.reduce.extremes``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, ShapeError
from opkit.ir import Shape, TensorDesc
from opkit.ops.basis.creation import cast, to_shape
from opkit.ops.core.define import define, named, quiet
from opkit.ops.core.inference import broadcast_shape, is_same_size, like, shape_error
from opkit.ops.core.meeting import Choose, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import Kept, OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Ints, Out, Values
from opkit.ops.core.value import Value, dtype_of, ndim_of, normal_axes, shape_of

#: ``add_reduce(x, axes, dtype, out, keepdims)``: what numpy's type stubs cannot say of positional arguments.
add_reduce: Function = np.add.reduce


def reduced_shape(shape: Ints, axis: Ints, keepdims: bool) -> Shape:
    """Return the shape after a reduction over the axes."""
    if keepdims:
        return tuple(1 if i in axis else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axis)


def infer_reduce(op: str) -> Any:
    """Return the inference of a reduction with attributes ``axis`` (empty: all axes) and ``keepdims``."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        axis = normal_axes(tuple(attrs["axis"]), descs[0].ndim, op)
        return [TensorDesc(reduced_shape(descs[0].shape, axis, attrs["keepdims"]), descs[0].dtype)]

    return infer


def spread(x: ndarray, shape: Shape, axis: Ints) -> ndarray:
    """Return a view of ``shape``: axes that a reduction removed are put back, then ``x`` is broadcast."""
    if x.ndim != len(shape) and axis:
        x = x.reshape(reduced_shape(shape, [i % len(shape) for i in axis], keepdims=True))
    if x.size == 1 and shape:  # the general way takes five times as long
        view: ndarray = ndarray(shape, x.dtype, np.ascontiguousarray(x), strides=(0,) * len(shape))
        view.flags.writeable = False
        return view
    return np.broadcast_to(x, shape)


# ---- reduce_sum, reduce_mean -----------------------------------------------------------------------------------------
@quiet
def _sum(input_tensor: ndarray, axis: Ints, keepdims: bool, out: Out = None) -> Any:
    dtype = input_tensor.dtype
    axes = tuple(axis) or None
    if dtype == np.float16:  # numpy adds halves in halves along outer axes
        total = np.asarray(add_reduce(input_tensor, axes, np.float32, None, keepdims)).astype(dtype)
        if out is None:
            return total
        out[...] = total
        return out
    return add_reduce(input_tensor, axes, dtype, out, keepdims)


@quiet
def _mean(input_tensor: ndarray, axis: Ints, keepdims: bool, out: Out = None) -> Any:
    dtype = input_tensor.dtype
    axes = tuple(axis) or None
    wide = np.float32 if dtype == np.float16 else dtype if dtype.kind in "fc" else np.dtype(np.float64)
    total = add_reduce(input_tensor, axes, wide, None, keepdims)  # one number is divided in a tenth of an array's time
    total = np.asarray(total / (input_tensor.size / total.size if total.size else 1)).astype(dtype, copy=False)
    if out is None:
        return total
    out[...] = total
    return out


_bare_sum: Function = _sum.bare  # type: ignore[attr-defined]


@quiet
def _mean_spread(dy: ndarray, like: Any, axis: Ints, keepdims: bool) -> ndarray:
    count = math.prod(like.shape) / dy.size if dy.size else 1.0
    return spread(np.asarray(dy / dy.dtype.type(count)), like.shape, axis)


def _sum_kernel(kept: Kept, dy: ndarray) -> Values:
    return (spread(dy, kept.array(0).shape, kept.attrs["axis"]),)


def _mean_grad(applied: Any, douts: Values) -> Values:
    return (perform(REDUCE_MEAN_GRAD, douts[0], applied.inputs[0], **applied.attrs),)


REDUCE_SUM = define(
    "reduce_sum",
    "input_tensor",
    "output_tensor",
    _sum,
    infer=infer_reduce("reduce_sum"),
    attrs="axis:vector<int32> keepdims:bool",
    grad=lambda applied, douts: (broadcast_like(douts[0], applied.inputs[0], applied.attrs["axis"]),),
    grad_kernel=_sum_kernel,
    out=_sum,
)
REDUCE_MEAN = define(
    "reduce_mean",
    "input_tensor",
    "output_tensor",
    _mean,
    infer=infer_reduce("reduce_mean"),
    attrs="axis:vector<int32> keepdims:bool",
    grad=_mean_grad,
    grad_kernel=lambda kept, dy: (_mean_spread.bare(dy, kept.array(0), **kept.attrs),),  # type: ignore[attr-defined]
    out=_mean,
)
REDUCE_MEAN_GRAD: OpDef = define(
    "reduce_mean_grad",
    "dy =like",
    "dx",
    _mean_spread,
    infer=like(1),
    attrs="axis:vector<int32> keepdims:bool",
    grad=lambda applied, douts: (perform(REDUCE_MEAN, douts[0], **applied.attrs), None),
    view=True,
)


def sums(choose: Choose) -> dict[str, Function]:
    """Return the builders of this module that depend on a dialect, by name."""

    def reduce_sum(x: Value, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Value:
        """Return the sum over axes, in the dtype of ``x``.

        Args:
            x: any shape; a number dtype.
            axis: an int or ints; left out: all.
            keepdims: keep the reduced axes with size 1.
            dtype: cast to this first.

        Raises:
            DtypeError: ``x`` is bool and no dtype to count in is given.
        """
        if dtype is not None:
            x = cast(x, dtype)
        elif dtype_of(x).kind != "f":
            x = cast(x, choose(x).total(dtype_of(x)))
            if dtype_of(x).kind == "b":
                raise DtypeError("op 'reduce_sum' got bool: cast it to a number first, or give dtype")
        axes = () if axis is None else normal_axes(axis, ndim_of(x), "reduce_sum")
        return local.mode.apply(REDUCE_SUM, (x,), {"axis": axes, "keepdims": bool(keepdims)})

    return named({"reduce_sum": reduce_sum})


reduce_sum = sums(strictly)["reduce_sum"]


def reduce_mean(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the mean over axes, in the dtype of ``x``; of integers it is truncated towards 0."""
    axes = () if axis is None else normal_axes(axis, ndim_of(x), "reduce_mean")
    return local.mode.apply(REDUCE_MEAN, (x,), {"axis": axes, "keepdims": bool(keepdims)})


# ---- broadcast_like, reduce_sum_like ---------------------------------------------------------------------------------
@quiet
def _sum_like(x: ndarray, like: Any, axis: Ints) -> Any:
    shape = like.shape
    if x.shape == shape:
        return x
    axes = tuple(axis) or _axes_between(x.shape, shape)
    return np.asarray(_bare_sum(x, axes, keepdims=True)).reshape(shape)


def _axes_between(wide: Shape, narrow: Shape) -> tuple[int, ...]:
    lead = len(wide) - len(narrow)
    return (*range(lead), *(i + lead for i, size in enumerate(narrow) if size == 1 and wide[i + lead] != 1))


def _infer_broadcast_like(descs: Descs, attrs: Attrs) -> Descs:
    x, like_desc = descs
    axes = attrs["broadcast_axes"]
    if axes and x.ndim != like_desc.ndim:
        kept = reduced_shape(like_desc.shape, [i % like_desc.ndim for i in axes], keepdims=False)
        fits = len(kept) == x.ndim and all(map(is_same_size, kept, x.shape))
    else:
        sizes = like_desc.shape[like_desc.ndim - x.ndim :]
        fits = x.ndim <= like_desc.ndim and all(size == 1 or is_same_size(size, to) for size, to in zip(x.shape, sizes))
    if not fits:
        raise shape_error("broadcast_like", descs, f"the first does not broadcast to the second over axes {axes}")
    return [TensorDesc(like_desc.shape, x.dtype)]


BROADCAST_LIKE = define(
    "broadcast_like",
    "x =like",
    "y",
    lambda x, like, broadcast_axes: spread(x, like.shape, broadcast_axes),
    infer=_infer_broadcast_like,
    attrs="broadcast_axes:vector<int32>",
    grad=lambda applied, douts: (reduce_sum_like(douts[0], applied.inputs[0], applied.attrs["broadcast_axes"]), None),
    view=True,
)
REDUCE_SUM_LIKE = define(
    "reduce_sum_like",
    "x =like",
    "y",
    _sum_like,
    infer=like(1),
    attrs="axis:vector<int32>",
    grad=lambda applied, douts: (broadcast_like(douts[0], applied.inputs[0], applied.attrs["axis"]), None),
    view=True,
)


def broadcast_like(x: Value, like: Value, broadcast_axes: Ints = ()) -> Value:
    """Return ``x`` broadcast to the shape of another value.

    Args:
        x: the value.
        like: any value; only its shape counts.
        broadcast_axes: the axes of ``like`` that ``x`` lacks or has with size 1; empty: numpy's rule.
    """
    return local.mode.apply(BROADCAST_LIKE, (x, like), {"broadcast_axes": tuple(broadcast_axes)})


def reduce_sum_like(x: Value, like: Value, axis: Ints = ()) -> Value:
    """Return ``x`` summed to the shape of another value: the adjoint of ``broadcast_like``."""
    return local.mode.apply(REDUCE_SUM_LIKE, (x, like), {"axis": tuple(axis)})


def sum_to(cotangent: Value, like: Value, other: Value | None = None) -> Value:
    """Return a cotangent summed to the shape of the operand that was broadcast; itself where it was not.

    Args:
        cotangent: has the shape of the result.
        like: the operand.
        other: the second operand, which can show that an unknown size was not broadcast.
    """
    shape = shape_of(like)
    if shape_of(cotangent) == shape:
        if -1 not in shape:
            return cotangent
        if other is not None:
            sizes = shape_of(other)
            lead = len(shape) - len(sizes)
            if lead >= 0 and all(size != -1 or i < lead or sizes[i - lead] == 1 for i, size in enumerate(shape)):
                return cotangent
    return local.mode.apply(REDUCE_SUM_LIKE, (cotangent, like), {"axis": ()})


def fitted(dy: ndarray, like: Any) -> Any:
    """Return what ``sum_to`` does, on arrays."""
    return dy if dy.shape == like.shape else _sum_like.bare(dy, like, ())  # type: ignore[attr-defined]


# ---- broadcast_to ----------------------------------------------------------------------------------------------------
def _target(shape: Ints, wanted: Ints) -> Shape:
    lead = len(wanted) - len(shape)
    return tuple(shape[i - lead] if size == -1 and i >= lead else size for i, size in enumerate(wanted))


def _infer_broadcast_to(descs: Descs, attrs: Attrs) -> Descs:
    wanted = _target(descs[0].shape, attrs["shape"])
    if descs[0].ndim > len(wanted):
        raise shape_error("broadcast_to", descs, f"it has more axes than {tuple(attrs['shape'])}")
    whole = broadcast_shape("broadcast_to", [descs[0], TensorDesc(wanted, descs[0].dtype)])
    if not all(map(is_same_size, whole, wanted)):
        raise shape_error("broadcast_to", descs, f"it does not broadcast to {tuple(attrs['shape'])}")
    return [TensorDesc(wanted, descs[0].dtype)]


BROADCAST_TO = define(
    "broadcast_to",
    "x",
    "y",
    lambda x, shape: np.broadcast_to(x, _target(x.shape, shape)),
    infer=_infer_broadcast_to,
    attrs="shape:shape",
    grad=lambda applied, douts: (sum_to(douts[0], applied.inputs[0]),),
    view=True,
)


def broadcast_to(x: Value, shape: Any) -> Value:
    """Return ``x`` broadcast to a shape; -1 keeps a size.

    Raises:
        ShapeError: it does not broadcast.
    """
    sizes = to_shape(shape)
    if len(sizes) < ndim_of(x):
        raise ShapeError(f"op 'broadcast_to': {shape_of(x)} has more axes than {sizes}")
    return local.mode.apply(BROADCAST_TO, (x,), {"shape": sizes})
