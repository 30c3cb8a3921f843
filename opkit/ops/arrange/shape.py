"""Ops that keep the elements and change the shape: reshape, flatten, transpose, squeeze, expand_dims.

Joining and cutting is in ``opkit.ops.arrange.joining``, picking elements (slice, gather, ...) in
``opkit.ops.arrange.indexing``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import ShapeError
from opkit.ir import Shape, TensorDesc
from opkit.listed import listed
from opkit.ops.basis.creation import to_shape
from opkit.ops.core.define import NO_ATTRS, define, first_only
from opkit.ops.core.inference import is_same_size, numel, shape_error
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Ints
from opkit.ops.core.value import Value, ndim_of, normal_axes, normal_axis, shape_of


# ---- reshape, reshape_like, flatten ----------------------------------------------------------------------------------
def _infer_reshape(descs: Descs, attrs: Attrs) -> Descs:
    x, shape = descs[0], tuple(attrs["shape"])
    if shape.count(-1) > 1:
        raise shape_error("reshape", descs, f"at most one size of {shape} may be -1")
    count, known = numel(x.shape), numel(tuple(size for size in shape if size != -1))
    if -1 in shape:
        if count == -1:
            return [TensorDesc(shape, x.dtype)]
        if known == 0 or count % known:
            raise shape_error("reshape", descs, f"its {count} elements do not fill {shape}")
        shape = tuple(count // known if size == -1 else size for size in shape)
    elif count not in (-1, known):
        raise shape_error("reshape", descs, f"its {count} elements do not fill {shape}")
    return [TensorDesc(shape, x.dtype)]


def _with_kept(shape: Ints, kept: Ints, held: Ints) -> Shape:
    return tuple(held[i] if i in kept else size for i, size in enumerate(shape))


def _infer_reshape_kept(descs: Descs, attrs: Attrs) -> Descs:
    x, kept = descs[0], attrs["kept"]
    if any(i >= x.ndim for i in kept):
        raise shape_error(
            "reshape_kept", descs, f"it does not have all of the axes {tuple(kept)}, whose sizes it keeps"
        )
    shape = _with_kept(attrs["shape"], kept, x.shape)
    return _infer_reshape(descs, {"shape": shape}) if shape.count(-1) < 2 else [TensorDesc(shape, x.dtype)]


def _like_input(applied: Any, dout: Value) -> Value:
    x = applied.inputs[0]
    shape = shape_of(x)
    return perform(RESHAPE, dout, shape=shape) if shape.count(-1) < 2 else reshape_like(dout, x)


def _infer_reshape_like(descs: Descs, attrs: Attrs) -> Descs:
    x, like_desc = descs
    if not is_same_size(numel(x.shape), numel(like_desc.shape)):
        raise shape_error("reshape_like", descs, "the numbers of elements differ")
    return [TensorDesc(like_desc.shape, x.dtype)]


def _flat_shape(shape: Shape, start_dim: int, end_dim: int) -> Shape:
    if not shape:
        return (1,)
    first, last = normal_axis(start_dim, len(shape), "flatten"), normal_axis(end_dim, len(shape), "flatten")
    if first > last:
        raise ShapeError(f"op 'flatten': start_dim {start_dim} is greater than end_dim {end_dim}")
    return (*shape[:first], numel(shape[first : last + 1]), *shape[last + 1 :])


def _reorder(
    name: str,
    kernel: Function,
    infer: Any,
    attrs: str,
    rule: Callable[[Any, Value], Value] = _like_input,
    *,
    args: tuple[str, str] = ("in", "out"),
    defaults: Attrs = NO_ATTRS,
) -> OpDef:
    grad = first_only(rule)
    return define(name, args[0], args[1], kernel, infer=infer, attrs=attrs, grad=grad, defaults=defaults, view=True)


RESHAPE = _reorder("reshape", lambda x, shape: x.reshape(tuple(shape)), _infer_reshape, "shape:shape")
FLATTEN = _reorder(
    "flatten",
    lambda x, start_dim, end_dim: x.reshape(_flat_shape(x.shape, start_dim, end_dim)),
    lambda descs, attrs: [
        TensorDesc(_flat_shape(descs[0].shape, attrs["start_dim"], attrs["end_dim"]), descs[0].dtype)
    ],
    "start_dim:int32 end_dim:int32",
    defaults={"start_dim": 0, "end_dim": -1},
)
RESHAPE_KEPT = _reorder(
    "reshape_kept",
    lambda x, shape, kept: x.reshape(_with_kept(shape, kept, x.shape)),
    _infer_reshape_kept,
    "shape:shape kept:vector<int32>",
)
RESHAPE_LIKE = define(
    "reshape_like",
    "in =like",
    "out",
    lambda x, like: x.reshape(like.shape),
    infer=_infer_reshape_like,
    grad=lambda applied, douts: (_like_input(applied, douts[0]), None),
    view=True,
)


def reshape(x: Value, shape: Any, kept: Ints = ()) -> Value:
    """Return ``x`` in another shape.

    Args:
        x: any shape and dtype.
        shape: the sizes; one may be -1, which is what remains.
        kept: the axes of the result that have the size of the same axis of ``x``, whether that is known yet or not;
            what the shape says there does not count.

    Raises:
        ShapeError: the elements do not fill the shape, or ``x`` lacks an axis whose size is kept.
    """
    sizes = to_shape(shape)
    if kept:
        held = shape_of(x)
        if any(i >= len(held) for i in kept):
            raise ShapeError(f"op 'reshape': {held} lacks some of the axes {tuple(kept)}, whose sizes are kept")
        sizes = _with_kept(sizes, kept, held)
        if sizes.count(-1) > 1:
            return local.mode.apply(RESHAPE_KEPT, (x,), {"shape": sizes, "kept": tuple(kept)})
    return local.mode.apply(RESHAPE, (x,), {"shape": sizes})


def reshape_like(x: Value, like: Value) -> Value:
    """Return ``x`` in the shape of another value."""
    return local.mode.apply(RESHAPE_LIKE, (x, like), NO_ATTRS)


def flatten(x: Value, start_axis: int = 0, stop_axis: int = -1) -> Value:
    """Return ``x`` with the axes from ``start_axis`` to ``stop_axis`` (both included) made one."""
    return local.mode.apply(FLATTEN, (x,), {"start_dim": start_axis, "end_dim": stop_axis})


# ---- transpose -------------------------------------------------------------------------------------------------------
def _infer_transpose(descs: Descs, attrs: Attrs) -> Descs:
    perm = tuple(attrs["perm"])
    if sorted(perm) != list(range(descs[0].ndim)):
        raise shape_error("transpose", descs, f"perm {perm} is not a permutation of its axes")
    return [TensorDesc(tuple(descs[0].shape[i] for i in perm), descs[0].dtype)]


def _transpose_back(applied: Any, dout: Value) -> Value:
    perm = applied.attrs["perm"]
    return perform(TRANSPOSE, dout, perm=tuple(sorted(range(len(perm)), key=perm.__getitem__)))


TRANSPOSE = _reorder(
    "transpose",
    lambda x, perm: x.transpose(perm),
    _infer_transpose,
    "perm:vector<int32>",
    _transpose_back,
    args=("input", "output"),
)


def transpose(x: Value, perm: Any = None) -> Value:
    """Return ``x`` with its axes permuted; left out: reversed.

    Raises:
        ShapeError: ``perm`` is not a permutation of the axes.
    """
    ndim = ndim_of(x)
    order = tuple(reversed(range(ndim))) if perm is None else tuple(normal_axis(i, ndim, "transpose") for i in perm)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"op 'transpose': perm {tuple(perm)} is not a permutation of the {ndim} axes of {shape_of(x)}")
    return local.mode.apply(TRANSPOSE, (x,), {"perm": order})


def swapaxes(x: Value, first: int, second: int) -> Value:
    """Return ``x`` with two axes exchanged."""
    ndim = ndim_of(x)
    perm = list(range(ndim))
    i, j = normal_axis(first, ndim, "transpose"), normal_axis(second, ndim, "transpose")
    perm[i], perm[j] = j, i
    return transpose(x, perm)


# ---- squeeze, expand_dims --------------------------------------------------------------------------------------------
def _infer_squeeze(descs: Descs, attrs: Attrs) -> Descs:
    axes = normal_axes(tuple(attrs["axes"]), descs[0].ndim, "squeeze") if attrs["axes"] else ()
    if any(not is_same_size(descs[0].shape[i], 1) for i in axes):
        raise shape_error("squeeze", descs, f"the axes {axes} must have size 1")
    return [TensorDesc(tuple(size for i, size in enumerate(descs[0].shape) if i not in axes), descs[0].dtype)]


def _infer_expand_dims(descs: Descs, attrs: Attrs) -> Descs:
    axis = normal_axis(attrs["axis"], descs[0].ndim + 1, "expand_dims")
    shape = descs[0].shape
    return [TensorDesc((*shape[:axis], 1, *shape[axis:]), descs[0].dtype)]


SQUEEZE = _reorder("squeeze", lambda x, axes: x.squeeze(tuple(axes)), _infer_squeeze, "axes:vector<int32>")
EXPAND_DIMS = _reorder(
    "expand_dims",
    lambda x, axis: np.expand_dims(x, axis),
    _infer_expand_dims,
    "axis:int32",
    lambda applied, dout: squeeze(dout, normal_axis(applied.attrs["axis"], ndim_of(dout), "expand_dims")),
)


def squeeze(x: Value, axis: Any = None) -> Value:
    """Return ``x`` without axes of size 1: the named ones; left out or empty: all of them.

    Raises:
        ShapeError: a named axis has another size.
    """
    shape = shape_of(x)
    if axis is None or axis == ():
        axes = tuple(i for i, size in enumerate(shape) if size == 1)
    else:
        axes = normal_axes(axis, len(shape), "squeeze")
        if any(shape[i] not in (1, -1) for i in axes):
            raise ShapeError(f"op 'squeeze': the axes {axes} of {shape} must have size 1")
    return local.mode.apply(SQUEEZE, (x,), {"axes": axes})


def expand_dims(x: Value, axis: Any) -> Value:
    """Return ``x`` with new axes of size 1 at the positions named, one after the other."""
    for item in listed(axis):
        at = normal_axis(item, ndim_of(x) + 1, "expand_dims")
        x = local.mode.apply(EXPAND_DIMS, (x,), {"axis": at})
    return x
