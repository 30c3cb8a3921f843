"""Reading and writing by index, by mask, by sorted edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ops.composed import places
from opkit.ops.core.types import Name
from opkit.ops.core.value import known_size
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value, needed, plain_shape, shape_or_size

__all__ = [
    "as_strided",
    "bucketize",
    "crop",
    "index_add",
    "index_put",
    "index_sample",
    "masked_fill",
    "scatter_nd",
    "searchsorted",
    "take",
    "unfold",
    "unique_consecutive",
]


# ---- by mask ---------------------------------------------------------------------------------------------------------
def masked_fill(x: Any, mask: Any, value: Any, name: Name = None) -> Any:
    """Return x with a number, or a tensor of one element, where the mask is true."""
    needed(x)
    number = value if not hasattr(value, "_data") else ops.cast(value, x._data.dtype)
    if not hasattr(number, "_data") and x._data.dtype.kind in "iu":
        number = int(number)
    return ops.where(needed(mask), number, x)


# ---- by index --------------------------------------------------------------------------------------------------------
def _vector(function: str, index: Any) -> Any:
    if need_value(function, "index", index).ndim > 1 and index.shape != [index.shape[0], 1]:
        raise ShapeError(f"{function}: the index is a vector, got shape {list(index.shape)}")
    return ops.reshape(index, [-1])


def index_add(x: Any, index: Any, axis: int, value: Any, name: Name = None) -> Any:
    """Return x with the slices of value added where the index names them along an axis."""
    at = axis % needed(x).ndim
    needed(value)
    return places.slices_added(x, _vector("index_add", index), at, value)


def index_sample(x: Any, index: Any) -> Any:
    """Return from each row of x the elements that the same row of the index names."""
    if needed(x).ndim != 2 or needed(index).ndim != 2:
        raise ShapeError(f"index_sample takes matrices, got {list(x.shape)} and {list(index.shape)}")
    return ops.take_along_axis(x, index, 1)


def index_put(x: Any, indices: Any, value: Any, accumulate: bool = False, name: Name = None) -> Any:
    """Return x with value written to (or added at) the places that a tuple of index tensors names."""
    needed(x)
    if not isinstance(indices, (list, tuple)):
        raise TypeError(f"index_put: indices is a tuple of Tensors, got {type(indices).__name__}")
    if not accumulate:
        return ops.setitem(x, tuple(indices), value)
    return places.summed_at(x, tuple(indices), value)


def take(x: Any, index: Any, mode: str = "raise", name: Name = None) -> Any:
    """Return elements of the flattened tensor: beyond its ends an error, the nearest ("clip"), or around ("wrap")."""
    if mode not in ("raise", "wrap", "clip"):
        raise UsageError(f"take: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    if needed(index)._data.dtype.kind not in "iu":
        raise TypeError(f"take: the index must hold integers, got {index._data.dtype}")
    flat = ops.reshape(needed(x), [-1])
    size = ops.count_of(flat)
    if mode == "wrap":
        index = ops.floor_mod(index, size)
    elif mode == "clip":
        index = (
            ops.maximum(ops.minimum(index, ops.sub(ops.cast(size, index._data.dtype), 1)), 0)
            if hasattr(size, "_data")
            else ops.clip(index, 0, size - 1)
        )
    else:
        if hasattr(index, "_sg") and bool(((index._data < -size) | (index._data >= size)).any()):
            raise UsageError(f"take: an index is out of range for {size} elements")
        index = ops.where(ops.less(index, 0), ops.add(index, size), index)
    return ops.gather(flat, index, 0)


def scatter_nd(index: Any, updates: Any, shape: Any, name: Name = None) -> Any:
    """Return zeros of a shape with updates added at the coordinates in the last axis of the index."""
    kind = needed(updates)._data.dtype
    blank = ops.constant(0, shape_or_size("scatter_nd", shape), kind.name)
    return ops.scatter_nd_add(blank, needed(index), updates)


# ---- windows ---------------------------------------------------------------------------------------------------------
def unfold(x: Any, axis: int, size: int, step: int, name: Name = None) -> Any:
    """Return the windows of one size along an axis, their elements along a new last axis."""
    at = axis % max(needed(x).ndim, 1)
    if x.ndim:
        known_size(x, at, "unfold")
    if not 0 <= size <= x.shape[at] or step < 1:
        raise UsageError(f"unfold: size {size} and step {step} do not fit an axis of size {x.shape[at]}")
    return places.windows_along(x, at, size, step)


def as_strided(x: Any, shape: Any, stride: Any, offset: int = 0, name: Name = None) -> Any:
    """Return a copy of elements at regular distances in memory; x is taken in row order."""
    flat = needed(x)
    return places.strided(flat, plain_shape("as_strided", shape), ints(stride), int(offset))


#: Beyond the end of any axis.
_END = 2**63 - 1


def crop(x: Any, shape: Any = None, offsets: Any = None, name: Name = None) -> Any:
    """Return the part of x of a shape (-1: all the rest) from offsets on."""
    count = needed(x).ndim
    starts = [0] * count if offsets is None else ints(offsets)
    wanted = list(x.shape) if shape is None else list(shape_or_size("crop", shape))
    ends = [_END if size == -1 else starts[k] + size for k, size in enumerate(wanted)]
    fits = all(end <= size for end, size in zip(ends, x.shape) if end != _END and size != -1)
    if len(starts) != count or len(wanted) != count or not fits:
        raise UsageError(f"crop: shape {wanted} and offsets {starts} do not fit {list(x.shape)}")
    return ops.slice(x, range(count), starts, ends)


# ---- sorted edges, sets ----------------------------------------------------------------------------------------------
def searchsorted(
    sorted_sequence: Any, values: Any, out_int32: bool = False, right: bool = False, name: Name = None
) -> Any:
    """Return where each value would be inserted into the sorted last axis."""
    edges = needed(sorted_sequence)
    needed(values)
    if edges.ndim != 1 and list(edges.shape[:-1]) != list(values.shape[:-1]):
        raise ShapeError(f"searchsorted: {list(edges.shape)} and {list(values.shape)} differ before the last axis")
    return ops.searchsorted(edges, values, right, "int32" if out_int32 else "int64")


def bucketize(x: Any, sorted_sequence: Any, out_int32: bool = False, right: bool = False, name: Name = None) -> Any:
    """Return the bucket of each element, the edges being a sorted vector."""
    if needed(sorted_sequence).ndim != 1:
        raise ShapeError(f"bucketize: sorted_sequence is a vector, got shape {list(sorted_sequence.shape)}")
    return searchsorted(sorted_sequence, x, out_int32, right)


def unique_consecutive(
    x: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: Name = None,
) -> Any:
    """Return x without elements (or slices along an axis) that repeat the one before; on request inverse and counts."""
    from opkit.paddle.tensor.search import dynamic_only

    dynamic_only("unique_consecutive")
    data = needed(x)._data
    rows = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    flat = rows.reshape(len(rows), -1)
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (flat[1:] != flat[:-1]).any(1)
    starts = np.flatnonzero(is_new)
    kept = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    kind = np.dtype(str(dtype).removeprefix("paddle."))
    found = [ops.literal(kept)]
    if return_inverse:
        found.append(ops.literal((np.cumsum(is_new) - 1).astype(kind)))
    if return_counts:
        found.append(ops.literal(np.diff(np.append(starts, len(rows))).astype(kind)))
    return found[0] if len(found) == 1 else tuple(found)
