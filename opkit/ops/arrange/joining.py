"""Joining values along an axis, and cutting them apart: concat, stack, split, unstack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.arrange.shape import expand_dims, squeeze
from opkit.ops.basis.creation import zeros_like
from opkit.ops.core.define import define
from opkit.ops.core.inference import check_same_dtype, is_same_size, shape_error
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Ints, Out, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of


# ---- concat, split, stack --------------------------------------------------------------------------------------------
def _concat(*arrays: ndarray, axis: int, max_dim_size: int = 0, out: Out = None) -> ndarray:
    return np.concatenate(arrays, axis=axis, out=out)


def _infer_concat(descs: Descs, attrs: Attrs) -> Descs:
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


def _concat_grad(applied: Any, douts: Values) -> Any:
    axis, pieces = applied.attrs["axis"], applied.inputs
    if len(pieces) == 1:
        return douts
    return perform(SPLIT_LIKE, douts[0], *pieces, axis=axis)


def _split_like(x: ndarray, *likes: Any, axis: int) -> tuple[ndarray, ...]:
    ends = np.cumsum([piece.shape[axis] for piece in likes])
    if int(ends[-1]) != x.shape[axis]:
        raise ShapeError(f"op 'split_like': sizes {[p.shape[axis] for p in likes]} do not add up to {x.shape[axis]}")
    return tuple(np.split(x, ends[:-1], axis))


def _split_grad(applied: Any, douts: Values) -> Values:
    pieces = [_zeros_for(dout, applied.outputs[i]) for i, dout in enumerate(douts)]
    return (concat(pieces, applied.attrs["axis"]), *([None] * (len(applied.inputs) - 1)))


def _zeros_for(dout: Value | None, output: Value) -> Value:
    return zeros_like(output) if dout is None else dout


def _bounds(size: int, sections: Ints) -> list[int]:
    if set(sections) == {-1} and size % len(sections) == 0:
        return [size // len(sections)] * len(sections)
    known = sum(section for section in sections if section != -1)
    sizes = [size - known if section == -1 else section for section in sections]
    if sum(sizes) != size or min(sizes) < 0:
        raise ShapeError(f"op 'split': sections {tuple(sections)} do not add up to the axis' size {size}")
    return sizes


def _split(x: ndarray, axis: int, sections: Ints) -> tuple[ndarray, ...]:
    return tuple(np.split(x, np.cumsum(_bounds(x.shape[axis], sections))[:-1], axis))


def _infer_split(descs: Descs, attrs: Attrs) -> Descs:
    x, axis = descs[0], normal_axis(attrs["axis"], descs[0].ndim, "split")
    sizes = attrs["sections"] if x.shape[axis] == -1 else _bounds(x.shape[axis], attrs["sections"])
    return [TensorDesc((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype) for size in sizes]


SPLIT_LIKE = define(
    "split_like",
    "in *=like",
    "*out",
    _split_like,
    infer=lambda descs, attrs: [
        TensorDesc((*desc.shape, *descs[0].shape[desc.ndim :]), descs[0].dtype) for desc in descs[1:]
    ],
    attrs="axis:int64",
    grad=_split_grad,
    view=True,
)
SPLIT = define(
    "split",
    "in",
    "*out",
    _split,
    infer=_infer_split,
    attrs="axis:int64 sections:vector<int64>",
    grad=_split_grad,
    view=True,
)
CONCAT = define(
    "concat",
    "*in",
    "out",
    _concat,
    infer=_infer_concat,
    attrs="axis:int64 max_dim_size:int64",
    grad=_concat_grad,
    out=_concat,
)


def concat(values: Values, axis: int = 0) -> Value:
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


def stack(values: Values, axis: int = 0) -> Value:
    """Return values of one shape joined along a new axis."""
    if not values:
        raise ShapeError("op 'stack' got nothing to join")
    at = normal_axis(axis, ndim_of(values[0]) + 1, "stack")
    return concat([expand_dims(value, at) for value in values], at)


def unstack(x: Value, axis: int = 0) -> list[Value]:
    """Return the slices of ``x`` along an axis, without that axis."""
    at = normal_axis(axis, ndim_of(x), "unstack")
    return [squeeze(piece, at) for piece in split(x, shape_of(x)[at], at)]
