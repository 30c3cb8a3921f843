"""Shapes, joining and splitting, selecting."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.types import Name
from opkit.paddle.semantics import arithmetic
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value, needed, plain_shape, shape_or_size
from opkit.paddle.tensor.run_shapes import sizes_of_run
from opkit.shim.missing import guard as _guard

__all__ = [
    "broadcast_shape",
    "broadcast_to",
    "cast",
    "chunk",
    "concat",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "gather",
    "gather_nd",
    "index_select",
    "masked_select",
    "moveaxis",
    "put_along_axis",
    "rank",
    "repeat_interleave",
    "reshape",
    "roll",
    "scatter",
    "scatter_nd_add",
    "shape",
    "slice",
    "split",
    "squeeze",
    "stack",
    "strided_slice",
    "t",
    "take_along_axis",
    "tile",
    "transpose",
    "unbind",
    "unsqueeze",
    "unstack",
    "where",
]


def cast(x: Any, dtype: Any) -> Any:
    """Return x in another dtype, always as a new tensor."""
    kind = canonical_dtype(dtype)
    needed(x)
    return ops.identity(x) if x._data.dtype == kind else ops.cast(x, kind)


def reshape(x: Any, shape: Any, name: Name = None) -> Any:
    """Return x in another shape; one size may be -1, a 0 keeps the size at its place."""
    computed = sizes_of_run(needed(x), shape)
    if computed is not None:
        return ops.reshape_by(x, *computed)
    return ops.reshape(x, plain_shape("reshape", shape))


def transpose(x: Any, perm: Any, name: Name = None) -> Any:
    """Return x with its axes in another order."""
    needed(x)
    return ops.transpose(x, tuple(ints(perm)))


def t(input: Any, name: Name = None) -> Any:
    """Return the transpose of a matrix; a vector or scalar as it is."""
    if input.ndim > 2:
        raise UsageError(f"t: takes a tensor of at most 2 axes, got {input.ndim}")
    return ops.transpose(input, (1, 0)) if input.ndim == 2 else ops.identity(input)


def moveaxis(x: Any, source: Any, destination: Any, name: Name = None) -> Any:
    """Return x with axes moved to other places."""
    count = x.ndim
    source, destination = ([axis % count for axis in ints(item)] for item in (source, destination))
    order = [axis for axis in range(count) if axis not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return ops.transpose(x, tuple(order))


def squeeze(x: Any, axis: Any = None, name: Name = None) -> Any:
    """Return x without axes of size 1; an axis of another size is left alone."""
    return ops.squeeze(needed(x), axis if axis is None else ints(axis))


def unsqueeze(x: Any, axis: Any, name: Name = None) -> Any:
    """Return x with new axes of size 1."""
    return ops.expand_dims(needed(x), ints(axis))


def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1, name: Name = None) -> Any:
    """Return x with a run of axes joined into one."""
    return ops.flatten(needed(x), start_axis, stop_axis)


def expand(x: Any, shape: Any, name: Name = None) -> Any:
    """Return x broadcast to a shape; -1 keeps a size, an int is the shape of one axis."""
    computed = sizes_of_run(needed(x), shape, keeps=-1)
    if computed is not None:
        return ops.broadcast_like(x, ops.fill_by(computed[0], 0.0, x._data.dtype.name, computed[1]))
    sizes = list(shape_or_size("expand", shape))
    held = x._data.shape
    offset = len(sizes) - len(held)
    return ops.broadcast_to(x, [held[i - offset] if size == -1 else size for i, size in enumerate(sizes)])


broadcast_to = expand


def expand_as(x: Any, y: Any, name: Name = None) -> Any:
    """Return x broadcast to the shape of y."""
    return ops.broadcast_like(needed(x), y)


def tile(x: Any, repeat_times: Any, name: Name = None) -> Any:
    """Return x repeated along its axes."""
    return ops.tile(needed(x), tuple(ints(repeat_times)))


def repeat_interleave(x: Any, repeats: Any, axis: int | None = None, name: Name = None) -> Any:
    """Return x with each element repeated along an axis."""
    value = ops.reshape(x, [-1]) if axis is None else x
    at = 0 if axis is None else axis
    if isinstance(repeats, int):
        return ops.repeat_interleave(value, repeats, at)
    places = np.repeat(np.arange(value.shape[at]), np.asarray(repeats))
    return ops.gather(value, ops.literal(places), at)


def concat(x: Any, axis: Any = 0, name: Name = None) -> Any:
    """Return tensors joined along an axis."""
    if not isinstance(x, (list, tuple)):
        raise UsageError(f"concat: takes a list or tuple of tensors, got {type(x).__name__}")
    return ops.concat([need_value("concat", "x", item) for item in x], ints(axis)[0])


def stack(x: Any, axis: int = 0, name: Name = None) -> Any:
    """Return tensors of one shape joined along a new axis."""
    return ops.stack([need_value("stack", "x", item) for item in x], axis)


def split(x: Any, num_or_sections: Any, axis: Any = 0, name: Name = None) -> list[Any]:
    """Return the pieces of x along an axis: how many, or the size of each."""
    sections = num_or_sections if isinstance(num_or_sections, int) else ints(num_or_sections)
    return ops.split(needed(x), sections, ints(axis)[0])


def chunk(x: Any, chunks: int, axis: Any = 0, name: Name = None) -> list[Any]:
    """Return that many equal pieces of x along an axis."""
    return split(x, chunks, axis)


def unstack(x: Any, axis: int = 0, num: int | None = None) -> list[Any]:
    """Return the slices of x along an axis."""
    return ops.unstack(needed(x), axis)


def unbind(input: Any, axis: int = 0) -> list[Any]:
    """Return the slices of a tensor along an axis."""
    return ops.unstack(needed(input), axis)


def flip(x: Any, axis: Any, name: Name = None) -> Any:
    """Return x with the order along axes reversed."""
    return ops.flip(needed(x), tuple(ints(axis)))


def roll(x: Any, shifts: Any, axis: Any = None, name: Name = None) -> Any:
    """Return x shifted along axes, what leaves at one end coming in at the other."""
    return ops.roll(needed(x), ints(shifts), None if axis is None else ints(axis))


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> Any:
    """Return the part of a tensor between starts and ends along axes."""
    return strided_slice(input, axes, starts, ends, [1] * len(ints(axes)))


def strided_slice(x: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: Name = None) -> Any:
    """Return every stride-th element between starts and ends along axes."""
    index: list[Any] = [np.s_[:]] * x.ndim
    for axis, start, end, step in zip(ints(axes), ints(starts), ints(ends), ints(strides)):
        index[axis] = np.s_[start : (None if step < 0 and end < -x.shape[axis] else end) : step]
    return ops.getitem(need_value("slice", "input", x), tuple(index))


def gather(x: Any, index: Any, axis: Any = None, name: Name = None) -> Any:
    """Return the slices of x that an index tensor names along an axis."""
    needed(x)
    at = 0 if axis is None else ints(axis)[0]
    flat = ops.reshape(index, [-1]) if index.ndim == 2 and index.shape[1] == 1 else index
    return ops.gather(x, flat, at)


def index_select(x: Any, index: Any, axis: int = 0, name: Name = None) -> Any:
    """Return the slices of x that an index tensor names along an axis."""
    return ops.gather(needed(x), index, axis)


def gather_nd(x: Any, index: Any, name: Name = None) -> Any:
    """Return the slices of x at the coordinates in the last axis of the index."""
    return ops.gather_nd(needed(x), index)


def _spread(arr: Any, indices: Any, axis: int) -> Any:
    """Return indices broadcast to the shape of arr except for one axis; larger sizes are kept."""
    wanted = list(arr.shape)
    wanted[axis] = indices.shape[axis]
    if wanted == list(indices.shape) or any(own < given for own, given in zip(arr.shape, indices.shape)):
        return indices
    return ops.broadcast_to(indices, wanted)


def take_along_axis(arr: Any, indices: Any, axis: int, broadcast: bool = True) -> Any:
    """Return elements picked along an axis, one index per element of the result."""
    if len(needed(arr).shape) != len(indices.shape):
        raise ShapeError(f"take_along_axis: {list(arr.shape)} and {list(indices.shape)} have different numbers of axes")
    return ops.take_along_axis(arr, _spread(arr, indices, axis) if broadcast else indices, axis)


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Any:
    """Return arr with elements along an axis replaced ("assign"), or with values added or multiplied to them.

    Args:
        arr: any shape.
        indices: one index per value; without ``broadcast`` smaller along the other axes too.
        values: a tensor that broadcasts to the indices, or a number.
        axis: along which the indices count.
        reduce: "assign", "add" or "mul" (also "multiply"); the last has no gradient for arr and values.
        include_self: whether the elements of arr themselves count.
        broadcast: the indices broadcast to the other axes of arr.
    """
    if reduce not in ("assign", "add", "mul", "multiply"):
        raise UsageError(f"put_along_axis: reduce is 'assign', 'add' or 'mul', got {reduce!r}")
    places = _spread(needed(arr), indices, axis) if broadcast else indices
    given = ops.cast(values, arr._data.dtype) if hasattr(values, "_data") else ops.as_value(values, like=arr)
    if list(given.shape) != list(places.shape):
        given = ops.broadcast_to(given, list(places.shape))
    if reduce == "assign":
        return ops.put_along_axis(arr, places, given, axis)
    if not include_self:
        arr = ops.put_along_axis(arr, places, ops.full_like(given, 0 if reduce == "add" else 1), axis)
    if reduce == "add":
        return ops.add(arr, ops.add_along_axis(arr, places, given, axis))
    return ops.multiply_along_axis(arr, places, given, axis)


def masked_select(x: Any, mask: Any, name: Name = None) -> Any:
    """Return the elements where the mask is true, flat."""
    return ops.getitem(needed(x), needed(mask))


def scatter(x: Any, index: Any, updates: Any, overwrite: bool = True, name: Name = None) -> Any:
    """Return x with rows replaced by updates, or with updates added to zeroed rows where not ``overwrite``."""
    return arithmetic.scatter(needed(x), index, updates, overwrite)


def scatter_nd_add(x: Any, index: Any, updates: Any, name: Name = None) -> Any:
    """Return x with updates added at the coordinates in the last axis of the index."""
    return ops.scatter_nd_add(needed(x), index, updates)


def where(condition: Any, x: Any = None, y: Any = None, name: Name = None) -> Any:
    """Return x where the condition holds, else y; with neither, the coordinates where it holds."""
    needed(condition)
    if x is None and y is None:
        from opkit.paddle.tensor.search import nonzero

        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise UsageError("where: give both x and y, or neither")
    if condition._data.dtype.kind != "b":
        raise DtypeError(f"where: condition holds booleans, got {condition._data.dtype}; compare it, as in x != 0")
    return ops.where(condition, x, y)


def rank(input: Any) -> Any:
    """Return the number of axes as an int32 tensor."""
    return ops.literal(np.array(len(needed(input)._data.shape), np.int32))


def broadcast_shape(x_shape: Any, y_shape: Any) -> list[int]:
    """Return the shape that two shapes broadcast to; -1 is a size that is not known."""
    rank = max(len(x_shape), len(y_shape))
    sizes = [[1] * (rank - len(shape)) + [int(size) for size in shape] for shape in (x_shape, y_shape)]
    found = []
    for one, other in zip(*sizes):
        known = sorted({one, other} - {1, -1})
        if len(known) > 1 or min(one, other) < -1:
            raise ShapeError(f"broadcast_shape: {list(x_shape)} and {list(y_shape)} do not fit: {one} and {other}")
        found.append(known[0] if known else min(one, other))
    return found


def shape(input: Any) -> Any:
    """Return the shape as an int32 tensor; in a graph, that of each run."""
    held = needed(input)._data.shape
    return ops.size_vector(input) if -1 in held else ops.literal(np.array(held, np.int32))


__getattr__ = _guard(globals())
