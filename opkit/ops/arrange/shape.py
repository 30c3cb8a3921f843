"""Ops that keep the elements and change the shape: reshape, transpose, squeeze, expand_dims, flatten, concat, split.

Picking elements (slice, gather, ...) is in ``opkit.ops.arrange.indexing``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.basis.creation import to_shape, zeros_like
from opkit.ops.core.define import NO_ATTRS, define, first_only
from opkit.ops.core.inference import check_same_dtype, is_same_size, numel, shape_error
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.value import Value, ndim_of, normal_axes, normal_axis, shape_of

__all__ = [
    "concat",
    "expand_dims",
    "flatten",
    "reshape",
    "reshape_like",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "transpose",
    "unstack",
]


# ---- reshape, reshape_like, flatten ----------------------------------------------------------------------------------
def _reshape(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    if 0 in shape and x.size:  # a size that was unknown when the op was built: the input's own
        shape = [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return x.reshape(tuple(shape))


def _infer_reshape(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    x, shape = descs[0], tuple(attrs["shape"])
    if 0 in shape and numel(x.shape):
        if any(size == 0 and i >= x.ndim for i, size in enumerate(shape)):
            raise shape_error("reshape", descs, f"a size of 0 in {shape} refers to an axis that it does not have")
        kept = [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
        if numel(x.shape) == -1:
            return [TensorDesc(tuple(kept), x.dtype)]
        shape = tuple(kept)
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


def _like_input(applied: Any, dout: Value) -> Value:
    x = applied.inputs[0]
    shape = shape_of(x)
    return local.mode.apply(RESHAPE, (dout,), {"shape": shape}) if shape.count(-1) < 2 else reshape_like(dout, x)


def _infer_reshape_like(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    x, like_desc = descs
    if not is_same_size(numel(x.shape), numel(like_desc.shape)):
        raise shape_error("reshape_like", descs, "the numbers of elements differ")
    return [TensorDesc(like_desc.shape, x.dtype)]


def _flatten(x: np.ndarray, start_dim: int, end_dim: int) -> np.ndarray:
    return x.reshape(_flat_shape(x.shape, start_dim, end_dim))


def _flat_shape(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...]:
    if not shape:
        return (1,)
    first, last = normal_axis(start_dim, len(shape), "flatten"), normal_axis(end_dim, len(shape), "flatten")
    if first > last:
        raise ShapeError(f"op 'flatten': start_dim {start_dim} is greater than end_dim {end_dim}")
    return (*shape[:first], numel(shape[first : last + 1]), *shape[last + 1 :])


def _infer_flatten(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    return [TensorDesc(_flat_shape(descs[0].shape, attrs["start_dim"], attrs["end_dim"]), descs[0].dtype)]


def _reorder(
    name: str,
    kernel: Callable[..., Any],
    infer: Any,
    attrs: str,
    rule: Callable[[Any, Value], Value] = _like_input,
    *,
    args: tuple[str, str] = ("in", "out"),
    defaults: Mapping[str, Any] = NO_ATTRS,
) -> OpDef:
    grad = first_only(rule)
    return define(name, args[0], args[1], kernel, infer=infer, attrs=attrs, grad=grad, defaults=defaults, view=True)


RESHAPE: OpDef = _reorder("reshape", _reshape, _infer_reshape, "shape:shape")
FLATTEN: OpDef = _reorder(
    "flatten", _flatten, _infer_flatten, "start_dim:int32 end_dim:int32", defaults={"start_dim": 0, "end_dim": -1}
)
RESHAPE_LIKE: OpDef = define(
    "reshape_like",
    "in =like",
    "out",
    lambda x, like: x.reshape(like.shape),
    infer=_infer_reshape_like,
    grad=lambda applied, douts: (_like_input(applied, douts[0]), None),
    view=True,
)


def reshape(x: Value, shape: Any) -> Value:
    """Return ``x`` in another shape; one size may be -1, and 0 keeps the size of that axis.

    Raises:
        ShapeError: the elements do not fill the shape.
    """
    sizes = to_shape(shape)
    if 0 in sizes and 0 not in shape_of(x):
        old = shape_of(x)
        if any(size == 0 and i >= len(old) for i, size in enumerate(sizes)):
            raise ShapeError(f"op 'reshape': a size of 0 in {sizes} refers to an axis that {old} does not have")
        sizes = tuple(old[i] if size == 0 and old[i] != -1 else size for i, size in enumerate(sizes))
    return local.mode.apply(RESHAPE, (x,), {"shape": sizes})


def reshape_like(x: Value, like: Value) -> Value:
    """Return ``x`` in the shape of another value."""
    return local.mode.apply(RESHAPE_LIKE, (x, like), NO_ATTRS)


def flatten(x: Value, start_axis: int = 0, stop_axis: int = -1) -> Value:
    """Return ``x`` with the axes from ``start_axis`` to ``stop_axis`` (both included) made one."""
    return local.mode.apply(FLATTEN, (x,), {"start_dim": start_axis, "end_dim": stop_axis})


# ---- transpose -------------------------------------------------------------------------------------------------------
def _transpose(x: np.ndarray, perm: Sequence[int]) -> Any:
    return x.transpose(perm)


def _transpose_out(x: np.ndarray, perm: Sequence[int], out: np.ndarray) -> np.ndarray:
    np.copyto(out, x.transpose(perm))
    return out


def _infer_transpose(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    perm = tuple(attrs["perm"])
    if sorted(perm) != list(range(descs[0].ndim)):
        raise shape_error("transpose", descs, f"perm {perm} is not a permutation of its axes")
    return [TensorDesc(tuple(descs[0].shape[i] for i in perm), descs[0].dtype)]


def _transpose_back(applied: Any, dout: Value) -> Value:
    perm = applied.attrs["perm"]
    return local.mode.apply(TRANSPOSE, (dout,), {"perm": tuple(sorted(range(len(perm)), key=perm.__getitem__))})


TRANSPOSE: OpDef = _reorder(
    "transpose", _transpose, _infer_transpose, "perm:vector<int32>", _transpose_back, args=("input", "output")
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
def _squeeze(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    return x.squeeze(tuple(axes))


def _infer_squeeze(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    axes = normal_axes(tuple(attrs["axes"]), descs[0].ndim, "squeeze") if attrs["axes"] else ()
    if any(not is_same_size(descs[0].shape[i], 1) for i in axes):
        raise shape_error("squeeze", descs, f"the axes {axes} must have size 1")
    return [TensorDesc(tuple(size for i, size in enumerate(descs[0].shape) if i not in axes), descs[0].dtype)]


def _expand_dims(x: np.ndarray, axis: int) -> np.ndarray:
    return np.expand_dims(x, axis)


def _infer_expand_dims(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    axis = normal_axis(attrs["axis"], descs[0].ndim + 1, "expand_dims")
    shape = descs[0].shape
    return [TensorDesc((*shape[:axis], 1, *shape[axis:]), descs[0].dtype)]


SQUEEZE: OpDef = _reorder("squeeze", _squeeze, _infer_squeeze, "axes:vector<int32>")
EXPAND_DIMS: OpDef = _reorder(
    "expand_dims",
    _expand_dims,
    _infer_expand_dims,
    "axis:int32",
    lambda applied, dout: squeeze(dout, normal_axis(applied.attrs["axis"], ndim_of(dout), "expand_dims")),
)


def squeeze(x: Value, axis: Any = None) -> Value:
    """Return ``x`` without axes of size 1; named axes of another size stay, left out: all of size 1."""
    shape = shape_of(x)
    named = range(len(shape)) if axis is None else normal_axes(axis, len(shape), "squeeze") if shape else ()
    axes = tuple(i for i in named if shape[i] == 1 or (shape[i] == -1 and axis is not None))
    return local.mode.apply(SQUEEZE, (x,), {"axes": axes})


def expand_dims(x: Value, axis: Any) -> Value:
    """Return ``x`` with new axes of size 1 at the positions named, one after the other."""
    for item in axis if isinstance(axis, (tuple, list)) else (axis,):
        at = normal_axis(item, ndim_of(x) + 1, "expand_dims")
        x = local.mode.apply(EXPAND_DIMS, (x,), {"axis": at})
    return x


# ---- concat, split, stack --------------------------------------------------------------------------------------------
def _concat(*arrays: np.ndarray, axis: int, max_dim_size: int = 0, out: np.ndarray | None = None) -> np.ndarray:
    return np.concatenate(arrays, axis=axis, out=out)


def _infer_concat(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    check_same_dtype("concat", descs)
    first = descs[0]
    axis = normal_axis(attrs["axis"], first.ndim, "concat")
    for desc in descs[1:]:
        if desc.ndim != first.ndim or not all(
            i == axis or is_same_size(a, b) for i, (a, b) in enumerate(zip(first.shape, desc.shape))
        ):
            raise shape_error("concat", descs, f"the shapes must be the same except for axis {axis}")
    sizes = [desc.shape[axis] for desc in descs]
    total = -1 if -1 in sizes else sum(sizes)
    return [TensorDesc((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)]


def _concat_grad(applied: Any, douts: Sequence[Value]) -> Any:
    axis, pieces = applied.attrs["axis"], applied.inputs
    if len(pieces) == 1:
        return douts
    return local.mode.apply(SPLIT_LIKE, (douts[0], *pieces), {"axis": axis})


def _split_like(x: np.ndarray, *likes: Any, axis: int) -> tuple[np.ndarray, ...]:
    ends = np.cumsum([piece.shape[axis] for piece in likes])
    if int(ends[-1]) != x.shape[axis]:
        raise ShapeError(f"op 'split_like': sizes {[p.shape[axis] for p in likes]} do not add up to {x.shape[axis]}")
    return tuple(np.split(x, ends[:-1], axis))


def _infer_split_like(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    return [TensorDesc(desc.shape, descs[0].dtype) for desc in descs[1:]]


def _split_grad(applied: Any, douts: Sequence[Any]) -> Sequence[Any]:
    pieces = [_zeros_for(dout, applied.outputs[i]) for i, dout in enumerate(douts)]
    return (concat(pieces, applied.attrs["axis"]), *([None] * (len(applied.inputs) - 1)))


def _zeros_for(dout: Value | None, output: Value) -> Value:
    return zeros_like(output) if dout is None else dout


def _bounds(size: int, sections: Sequence[int]) -> list[int]:
    if set(sections) == {-1} and size % len(sections) == 0:
        return [size // len(sections)] * len(sections)
    known = sum(section for section in sections if section != -1)
    sizes = [size - known if section == -1 else section for section in sections]
    if sum(sizes) != size or min(sizes) < 0:
        raise ShapeError(f"op 'split': sections {tuple(sections)} do not add up to the axis' size {size}")
    return sizes


def _split(x: np.ndarray, axis: int, sections: Sequence[int]) -> tuple[np.ndarray, ...]:
    return tuple(np.split(x, np.cumsum(_bounds(x.shape[axis], sections))[:-1], axis))


def _infer_split(descs: Sequence[TensorDesc], attrs: Mapping[str, Any]) -> Sequence[TensorDesc]:
    x, axis = descs[0], normal_axis(attrs["axis"], descs[0].ndim, "split")
    sizes = attrs["sections"] if x.shape[axis] == -1 else _bounds(x.shape[axis], attrs["sections"])
    return [TensorDesc((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype) for size in sizes]


SPLIT_LIKE: OpDef = define(
    "split_like",
    "in *=like",
    "*out",
    _split_like,
    infer=_infer_split_like,
    attrs="axis:int64",
    grad=_split_grad,
    view=True,
)
SPLIT: OpDef = define(
    "split",
    "in",
    "*out",
    _split,
    infer=_infer_split,
    attrs="axis:int64 sections:vector<int64>",
    grad=_split_grad,
    view=True,
)
CONCAT: OpDef = define(
    "concat",
    "*in",
    "out",
    _concat,
    infer=_infer_concat,
    attrs="axis:int64 max_dim_size:int64",
    grad=_concat_grad,
    out=_concat,
)


def concat(values: Sequence[Value], axis: int = 0) -> Value:
    """Return the values joined along an axis; their shapes are the same except for that axis.

    Raises:
        ShapeError: there is nothing to join, or the shapes do not fit.
    """
    if not values:
        raise ShapeError("op 'concat' got nothing to join")
    attrs = {"axis": normal_axis(axis, ndim_of(values[0]), "concat"), "max_dim_size": 0}
    return local.mode.apply(CONCAT, tuple(values), attrs)


def split(x: Value, sections: Any, axis: int = 0) -> list[Value]:
    """Return the pieces of ``x`` along an axis.

    Args:
        x: any shape.
        sections: how many equal pieces, or the size of each (one may be -1: the rest).
        axis: the axis.

    Raises:
        ShapeError: the pieces do not fill the axis.
    """
    at = normal_axis(axis, ndim_of(x), "split")
    size = shape_of(x)[at]
    if isinstance(sections, (list, tuple)):
        sizes = tuple(int(item) for item in sections)
    else:
        if size != -1 and (sections < 1 or size % sections):
            raise ShapeError(f"op 'split': axis {axis} of {shape_of(x)} cannot be cut into {sections} equal pieces")
        sizes = (-1 if size == -1 else size // sections,) * sections
    return list(local.mode.apply(SPLIT, (x,), {"axis": at, "sections": sizes}))


def stack(values: Sequence[Value], axis: int = 0) -> Value:
    """Return values of one shape joined along a new axis."""
    if not values:
        raise ShapeError("op 'stack' got nothing to join")
    at = normal_axis(axis, ndim_of(values[0]) + 1, "stack")
    return concat([expand_dims(value, at) for value in values], at)


def unstack(x: Value, axis: int = 0) -> list[Value]:
    """Return the slices of ``x`` along an axis, without that axis."""
    at = normal_axis(axis, ndim_of(x), "unstack")
    return [squeeze(piece, at) for piece in split(x, shape_of(x)[at], at)]
