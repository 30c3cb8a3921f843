"""Selecting along one axis by an index tensor: gather and batch_gather, the segment sums that are their gradients.

Index tuples and scattering are in ``opkit.ops.arrange.scattering``, ``x[index]`` in ``opkit.ops.arrange.indexing``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc, canonical_dtype, is_integer
from opkit.ops.arrange.indexing import IndexRangeError
from opkit.ops.basis.creation import cast
from opkit.ops.core.define import define
from opkit.ops.core.inference import dtype_error, is_same_size, like, shape_error
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Out, Values
from opkit.ops.core.value import Value, dtype_of, ndim_of, normal_axis, shape_of


def check_range(op: str, indices: ndarray, size: int) -> None:
    """Refuse indices outside ``[0, size)``.

    Raises:
        IndexRangeError: one is; it is named.
    """
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        bad = indices[(indices < 0) | (indices >= size)].reshape(-1)[0]
        raise IndexRangeError(f"op {op!r}: index {bad} is out of range for an axis of size {size}")


def check_indices(op: str, descs: Descs, index: int) -> None:
    """Raise unless the input at a place holds integers."""
    if not is_integer(descs[index].dtype):
        raise dtype_error(op, descs, "the indices must be integers")


def add_rows(total: ndarray, rows: ndarray, at: ndarray) -> None:
    """Add ``rows[i]`` to ``total[at[i]]``, in the order of the rows; equal to ``np.add.at`` and much quicker."""
    if not at.size or not rows.size:
        return
    if rows.ndim == 1:
        np.add.at(total, at, rows)
        return
    order = np.argsort(at, kind="stable")
    ranked = at[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    total[ranked[starts]] += np.add.reduceat(rows[order], starts, axis=0)


# ---- gather, unsorted_segment_sum: along one axis --------------------------------------------------------------------
def _gather(x: ndarray, indices: ndarray, axis: int, out: Out = None) -> ndarray:
    check_range("gather", indices, x.shape[axis])
    return np.take(x, indices, axis=axis, out=out, mode="raise" if out is None else "clip")


def _infer_gather(descs: Descs, attrs: Attrs) -> Descs:
    x, indices = descs
    check_indices("gather", descs, 1)
    axis = normal_axis(attrs["axis"], x.ndim, "gather")
    return [TensorDesc((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)]


def _gather_grad(applied: Any, douts: Values) -> Values:
    x, indices = applied.inputs
    axis = applied.attrs["axis"] % len(x.shape)
    return perform(SEGMENT_SUM_LIKE, douts[0], indices, x, axis=axis), None


def _segment_sum(data: ndarray, ids: ndarray, axis: int, num_segments: int) -> ndarray:
    check_range("unsorted_segment_sum", ids, num_segments)
    lead, tail = data.shape[:axis], data.shape[axis + ids.ndim :]
    # Many halves are added up in single precision, else the sum stops growing.
    wide = np.float32 if data.dtype == np.float16 else data.dtype
    total = np.zeros((num_segments, *lead, *tail), wide)
    rows = data.reshape(*lead, ids.size, *tail).astype(wide, copy=False)
    add_rows(total, np.moveaxis(rows, axis, 0), ids.reshape(-1))
    total = total.astype(data.dtype, copy=False)
    return np.moveaxis(total, 0, axis) if axis else total


def _infer_segment_sum(descs: Descs, attrs: Attrs) -> Descs:
    data, ids = descs
    check_indices("unsorted_segment_sum", descs, 1)
    axis = attrs["axis"]
    if not all(map(is_same_size, data.shape[axis : axis + ids.ndim], ids.shape)) or axis + ids.ndim > data.ndim:
        raise shape_error("unsorted_segment_sum", descs, f"the ids must have the data's sizes from axis {axis} on")
    return [TensorDesc((*data.shape[:axis], attrs["num_segments"], *data.shape[axis + ids.ndim :]), data.dtype)]


def _segment_sum_grad(applied: Any, douts: Values) -> Values:
    grads = [None] * len(applied.inputs)
    grads[0] = perform(GATHER, douts[0], applied.inputs[1], axis=applied.attrs["axis"])
    return grads


GATHER = define(
    "gather",
    "in indices",
    "out",
    _gather,
    infer=_infer_gather,
    attrs="axis:int64",
    grad=_gather_grad,
    reads="indices",
    out=_gather,
)
SEGMENT_SUM = define(
    "unsorted_segment_sum",
    "data segment_ids",
    "out",
    _segment_sum,
    infer=_infer_segment_sum,
    attrs="axis:int64 num_segments:int64",
    grad=_segment_sum_grad,
    reads="segment_ids",
)
SEGMENT_SUM_LIKE = define(
    "unsorted_segment_sum_like",
    "data segment_ids =like",
    "out",
    lambda data, ids, like, axis: _segment_sum(data, ids, axis, like.shape[axis]),
    infer=like(2),
    attrs="axis:int64",
    grad=_segment_sum_grad,
    reads="segment_ids",
)


def gather(x: Value, indices: Value, axis: int = 0) -> Value:
    """Return the slices of ``x`` that the indices name along an axis; the axis is replaced by the indices' axes.

    Raises:
        ShapeError: an index is out of range (it is also an IndexError).
    """
    return local.mode.apply(GATHER, (x, indices), {"axis": normal_axis(axis, ndim_of(x), "gather")})


def index_select(x: Value, indices: Value, axis: int = 0) -> Value:
    """Return the slices of ``x`` that a vector of indices names along an axis."""
    if ndim_of(indices) != 1:
        raise ShapeError(f"op 'gather': index_select takes a vector of indices, got shape {shape_of(indices)}")
    return gather(x, indices, axis)


def unsorted_segment_sum(data: Value, segment_ids: Value, num_segments: int, axis: int = 0) -> Value:
    """Return, per segment, the sum of the slices of ``data`` whose id it is."""
    attrs = {"axis": normal_axis(axis, ndim_of(data), "unsorted_segment_sum"), "num_segments": num_segments}
    return local.mode.apply(SEGMENT_SUM, (data, segment_ids), attrs)


# ---- batch_gather: indices of each batch entry -----------------------------------------------------------------------
def _batch_gather(x: ndarray, indices: ndarray) -> ndarray:
    axis = indices.ndim - 1
    check_range("batch_gather", indices, x.shape[axis])
    wide = indices.reshape(*indices.shape, *(1,) * (x.ndim - indices.ndim))
    return np.take_along_axis(x, wide, axis)


def _batch_segment_sum(data: ndarray, ids: ndarray, num_segments: int) -> ndarray:
    check_range("unsorted_batch_segment_sum", ids, num_segments)
    lead, tail = ids.shape[:-1], data.shape[ids.ndim :]
    groups = int(np.prod(lead))
    total = np.zeros((groups * num_segments, *tail), data.dtype)
    at = ids.reshape(groups, -1) + np.arange(groups)[:, None] * num_segments
    add_rows(total, data.reshape(ids.size, *tail), at.reshape(-1))
    return total.reshape(*lead, num_segments, *tail)


def _infer_batch_gather(descs: Descs, attrs: Attrs) -> Descs:
    x, indices = descs
    check_indices("batch_gather", descs, 1)
    axis = indices.ndim - 1
    if axis < 0 or indices.ndim > x.ndim or not all(map(is_same_size, x.shape[:axis], indices.shape[:axis])):
        raise shape_error("batch_gather", descs, "the sizes before the last axis of the indices must be the same")
    return [TensorDesc((*indices.shape, *x.shape[axis + 1 :]), x.dtype)]


def _infer_batch_sum(descs: Descs, attrs: Attrs) -> Descs:
    data, ids = descs
    check_indices("unsorted_batch_segment_sum", descs, 1)
    return [TensorDesc((*ids.shape[:-1], attrs["num_segments"], *data.shape[ids.ndim :]), data.dtype)]


def _batch_gather_grad(applied: Any, douts: Values) -> Values:
    x, indices = applied.inputs
    return perform(BATCH_SUM_LIKE, douts[0], indices, x), None


BATCH_GATHER = define(
    "batch_gather",
    "in indices",
    "out",
    _batch_gather,
    infer=_infer_batch_gather,
    grad=_batch_gather_grad,
    reads="indices",
)
BATCH_SEGMENT_SUM = define(
    "unsorted_batch_segment_sum",
    "data segment_ids",
    "out",
    _batch_segment_sum,
    infer=_infer_batch_sum,
    attrs="num_segments:int64",
    grad=lambda applied, douts: (perform(BATCH_GATHER, douts[0], applied.inputs[1]), None),
    reads="segment_ids",
)


BATCH_SUM_LIKE = define(
    "unsorted_batch_segment_sum_like",
    "data segment_ids =like",
    "out",
    lambda data, ids, like: _batch_segment_sum(data, ids, like.shape[ids.ndim - 1]),
    infer=like(2),
    grad=lambda applied, douts: (perform(BATCH_GATHER, douts[0], applied.inputs[1]), None, None),
    reads="segment_ids",
)


# ---- one_hot ---------------------------------------------------------------------------------------------------------
def _one_hot(
    indices: ndarray,
    depth: int,
    floating_on_value: float,
    integer_on_value: int,
    floating_off_value: float,
    integer_off_value: int,
    dtype: str,
) -> ndarray:
    check_range("one_hot", indices, depth)
    is_float = dtype.startswith("float")
    on, off = (floating_on_value, floating_off_value) if is_float else (integer_on_value, integer_off_value)
    rows = np.full((indices.size, depth), off, dtype)
    rows[np.arange(indices.size), indices.reshape(-1)] = on
    return rows.reshape(*indices.shape, depth)


def _infer_one_hot(descs: Descs, attrs: Attrs) -> Descs:
    check_indices("one_hot", descs, 0)
    return [TensorDesc((*descs[0].shape, attrs["depth"]), attrs["dtype"])]


ONE_HOT = define(
    "one_hot",
    "indices",
    "out",
    _one_hot,
    infer=_infer_one_hot,
    attrs="depth:int64 floating_on_value:double integer_on_value:int64 floating_off_value:double"
    " integer_off_value:int64 dtype:data_type",
    defaults={"floating_on_value": 1.0, "integer_on_value": 1},
)


def one_hot(indices: Value, depth: int, dtype: Any = "float32") -> Value:
    """Return rows that are 1 at the index and 0 elsewhere; one more axis, of size ``depth``."""
    attrs = {
        "depth": int(depth),
        "floating_on_value": 1.0,
        "integer_on_value": 1,
        "floating_off_value": 0.0,
        "integer_off_value": 0,
        "dtype": canonical_dtype(dtype),
    }
    if dtype_of(indices).kind not in "iu":
        indices = cast(indices, "int64")
    return local.mode.apply(ONE_HOT, (indices,), attrs)
