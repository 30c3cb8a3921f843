"""OneFlow's builders that move and make data: reshape, concat, slice, gather, cast, constants (v0.4 names).

Names and argument order only; the ops are in ``opkit.ops``.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.listed import listed
from opkit.oneflow.scalar_types import float32, int32
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.semantics.dtypes import slice_attrs
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.inference import broadcast_shape
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import desc_of, dtype_of, shape_of

Blob = Any


# ---- shapes ----------------------------------------------------------------------------------------------------------
def reshape(x: Blob, shape: Ints, name: Name = None) -> Blob:
    """Return the blob in another shape; one size may be -1."""
    return ops.reshape(as_value(x), [int(size) for size in shape])


def reshape_like(x: Blob, like: Blob, name: Name = None) -> Blob:
    """Return the blob in the shape of another."""
    return ops.reshape_like(as_value(x), as_value(like))


def flatten(input: Blob, start_dim: int = 0, end_dim: int = -1, name: Name = None) -> Blob:
    """Join the axes from ``start_dim`` to ``end_dim``."""
    return ops.flatten(as_value(input), start_dim, end_dim)


def transpose(
    a: Blob, perm: Ints | None = None, conjugate: bool = False, batch_axis_non_change: bool = False, name: Name = None
) -> Blob:
    """Permute the axes; left out, they are reversed."""
    if conjugate:
        raise UsageError("flow.transpose: conjugate is not supported")
    return ops.transpose(as_value(a), None if perm is None else list(perm))


def squeeze(input: Blob, axis: Ints | int | None = None, name: Name = None) -> Blob:
    """Drop axes of size 1: the named ones, or all of them.

    Raises:
        ShapeError: a named axis has another size.

    Source: OneFlow v0.4.0, squeeze_op.cpp.
    """
    return ops.squeeze(as_value(input), axis)


def expand_dims(input: Blob, axis: int, name: Name = None) -> Blob:
    """Insert an axis of size 1."""
    return ops.expand_dims(as_value(input), axis)


def broadcast_like(x: Blob, like: Blob, broadcast_axes: Ints | None = None, name: Name = None) -> Blob:
    """Repeat the blob to the shape of another."""
    return ops.broadcast_like(as_value(x), as_value(like), tuple(broadcast_axes or ()))


def broadcast_to_compatible_with(x: Blob, compatible: Sequence[Blob], name: Name = None) -> Blob:
    """Repeat the blob to the shape that it and the others have together.

    Raises:
        ShapeError: their shapes do not go together.
    """
    value = as_value(x)
    others = [as_value(item) for item in compatible]
    shape = broadcast_shape("broadcast_to_compatible_with", [desc_of(item) for item in (value, *others)])
    if -1 not in shape:
        return ops.broadcast_to(value, shape)
    zero = ops.zeros_like(value)
    for item in others:  # sizes are known in the run alone: the sum of zeros has them
        zero = ops.add(zero, ops.cast(ops.zeros_like(item), dtype_of(value).name))
    return ops.broadcast_like(value, zero)


def expand(x: Blob, expand_size: Ints, name: Name = None) -> Blob:
    """Repeat axes of size 1, and new axes in front; -1 keeps an axis.

    Raises:
        ShapeError: there are fewer sizes than axes, or an axis of another size than 1 is to change.
    """
    value = as_value(x)
    sizes = shape_of(value)
    lead = len(expand_size) - len(sizes)
    if lead < 0:
        raise ShapeError(f"flow.expand: {list(expand_size)} has fewer sizes than the blob of shape {sizes}")
    wanted = [sizes[k - lead] if k >= lead and size == -1 else int(size) for k, size in enumerate(expand_size)]
    return ops.broadcast_to(value, wanted)


# ---- joining and taking apart ----------------------------------------------------------------------------------------
def concat(
    inputs: Sequence[Blob] | None = None,
    axis: int = 0,
    max_dim_size: int | None = None,
    name: Name = None,
    values: Sequence[Blob] | None = None,
) -> Blob:
    """Join blobs along an axis."""
    given = values if inputs is None else inputs
    if given is None:
        raise UsageError("flow.concat takes a list of blobs")
    blobs = [as_value(item) for item in given]
    return blobs[0] if len(blobs) == 1 else ops.concat(blobs, axis)


def stack(inputs: Sequence[Blob] | Blob, axis: int = 0, name: Name = None) -> Blob:
    """Join blobs along a new axis."""
    given = listed(inputs)
    return ops.stack([as_value(item) for item in given], axis)


def split(x: Blob, num_or_sections: int | Ints, axis: int = 0, name: Name = None) -> Sequence[Blob]:
    """Cut a blob along an axis into equal parts, or parts of the given sizes."""
    parts: Sequence[Blob] = ops.split(as_value(x), num_or_sections, axis)
    return parts


def slice(x: Blob, begin: Sequence[int | None], size: Sequence[int | None], name: Name = None) -> Blob:
    """Take ``size[i]`` elements from ``begin[i]`` on; -1 or None means up to the end.

    Raises:
        ShapeError: begin and size do not fit the blob.
    """
    value = as_value(x)
    sizes = shape_of(value)
    if len(begin) != len(sizes) or len(size) != len(sizes):
        raise ShapeError(f"flow.slice: begin {list(begin)} and size {list(size)} do not fit a blob of shape {sizes}")
    index = []
    for start, count, length in zip(begin, size, sizes):
        first = 0 if start is None else start + length if start < 0 else start
        last = length if count in (None, -1) else first + count
        if not (0 <= first <= last <= length):
            raise ShapeError(f"flow.slice: begin {start} and size {count} leave an axis of {length} elements")
        index.append(builtins.slice(first, last, 1))
    return ops.getitem(value, tuple(index))


def slice_v2(x: Blob, slice_tup_list: Sequence[tuple[int | None, int | None, int | None]], name: Name = None) -> Blob:
    """Take a slice (start, stop, step) per leading axis."""
    value = as_value(x)
    start, stop, step = slice_attrs("flow.slice_v2", slice_tup_list, shape_of(value))
    return call("slice", value, start=start, stop=stop, step=step)


def reverse(input: Blob, axis: int | Ints, name: Name = None) -> Blob:
    """Reverse along axes."""
    return ops.flip(as_value(input), axis)


def gather(
    params: Blob,
    indices: Blob,
    validate_indices: Blob | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: Name = None,
) -> Blob:
    """Take the slices of ``params`` along an axis that ``indices`` name.

    Raises:
        UsageError: ``batch_dims`` is used with another axis than itself.
    """
    ndim = len(shape_of(as_value(params)))
    batch = batch_dims + len(shape_of(as_value(indices))) if batch_dims < 0 else batch_dims
    chosen = batch if axis is None else axis + ndim if axis < 0 else axis
    if not batch:
        return call("gather", params, indices, axis=chosen)
    if chosen != batch:
        raise UsageError(f"flow.gather: batch_dims {batch_dims} needs axis {batch}, got {axis}")
    return call("batch_gather", params, indices)


def gather_nd(params: Blob, indices: Blob, name: Name = None) -> Blob:
    """Take the elements or slices that index tuples name."""
    return call("gather_nd", params, indices)


def scatter_nd(indices: Blob, updates: Blob, shape: Ints, name: Name = None) -> Blob:
    """Put updates where index tuples say, into zeros; repeated ones add up."""
    return call("scatter_nd", indices, updates, shape=tuple(shape))


def where(condition: Blob, x: Blob | None = None, y: Blob | None = None, name: Name = None) -> Blob:
    """Choose elements of ``x`` where the condition holds, else of ``y``; without both, return ``flow.argwhere``.

    Raises:
        UsageError: ``x`` or ``y`` alone is missing.
    """
    if x is None and y is None:
        return ops.argwhere(as_value(condition), "int32")
    if x is None or y is None:
        raise UsageError("flow.where takes a condition alone, or a condition, x and y")
    return ops.where(as_value(condition), as_value(x), as_value(y))


def one_hot(
    indices: Blob,
    depth: int,
    on_value: float = 1,
    off_value: float = 0,
    axis: int = -1,
    dtype: Any = None,
    name: Name = None,
) -> Blob:
    """Return ``on_value`` where an index names the position along a new axis, ``off_value`` elsewhere."""
    kind = canonical_dtype(dtype or int32)
    hot = call(
        "one_hot",
        indices,
        depth=int(depth),
        floating_on_value=float(on_value),
        integer_on_value=int(on_value),
        floating_off_value=float(off_value),
        integer_off_value=int(off_value),
        dtype=kind,
    )
    last = len(shape_of(hot)) - 1
    at = axis + last + 1 if axis < 0 else axis
    if at == last:
        return hot
    order = list(builtins.range(last))
    order.insert(at, last)
    return ops.transpose(hot, order)


def pad(x: Blob, paddings: Sequence[Ints], constant_value: float = 0, name: Name = None) -> Blob:
    """Put ``paddings[i] = (before, after)`` elements around axis i."""
    value = as_value(x)
    before, after = [int(item[0]) for item in paddings], [int(item[1]) for item in paddings]
    is_floating = dtype_of(value).kind == "f"
    return call(
        "pad",
        value,
        padding_before=before,
        padding_after=after,
        floating_constant_value=float(constant_value) if is_floating else 0.0,
        integral_constant_value=0 if is_floating else int(constant_value),
    )


# ---- making ----------------------------------------------------------------------------------------------------------
def cast(x: Blob, dtype: Any, name: Name = None) -> Blob:
    """Convert to another dtype."""
    value = as_value(x)
    kind = canonical_dtype(dtype)
    return value if dtype_of(value).name == kind else ops.cast(value, kind)


def constant(value: float, dtype: Any = None, shape: Ints | None = None, name: Name = None) -> Blob:
    """Return a blob filled with a number."""
    return ops.constant(value, tuple(shape or ()), canonical_dtype(dtype or float32))


def constant_like(like: Blob, value: float, dtype: Any = None, name: Name = None) -> Blob:
    """Return a blob of another's shape filled with a number."""
    return ops.full_like(as_value(like), value, None if dtype is None else canonical_dtype(dtype))


def zeros_like(like: Blob, dtype: Any = None, name: Name = None) -> Blob:
    """Return zeros of another blob's shape."""
    return constant_like(like, 0, dtype)


def ones_like(like: Blob, dtype: Any = None, name: Name = None) -> Blob:
    """Return ones of another blob's shape."""
    return constant_like(like, 1, dtype)


def zeros(shape: Ints, dtype: Any = None, name: Name = None) -> Blob:
    """Return zeros."""
    return constant(0.0, dtype, shape)


def ones(shape: Ints, dtype: Any = None, name: Name = None) -> Blob:
    """Return ones."""
    return constant(1.0, dtype, shape)


def range(start: int, limit: int | None = None, delta: int = 1, dtype: Any = None, name: str = "range") -> Blob:
    """Return ``start, start+delta, ...`` below ``limit``; one number alone is the limit."""
    first, last = (0, start) if limit is None else (start, limit)
    return ops.range(first, last, delta, canonical_dtype(dtype or "int64"))


def assign(ref: Blob, value: Blob, dtype: Any = None, name: Name = None) -> None:
    """Write a value into a variable, in place."""
    call("assign", ref, value)
