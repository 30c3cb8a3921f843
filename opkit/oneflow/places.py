"""OneFlow's builders that choose, order, write and add up elements by place (v0.4 names).

Names and argument order only; the ops are in ``opkit.ops``. What moves whole blobs is in ``array``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.oneflow.scalar_types import int32
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.semantics.dtypes import slice_attrs
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Name
from opkit.ops.core.value import ndim_of, normal_axis, shape_of

Blob = Any


# ---- choosing --------------------------------------------------------------------------------------------------------
def dim_gather(input: Blob, dim: int, index: Blob, name: Name = None) -> Blob:
    """Take the elements along one axis that ``index`` names, place by place.

    Raises:
        ShapeError: the shapes differ beyond that axis.
    """
    value, places = as_value(input), as_value(index)
    sizes, wanted = shape_of(value), shape_of(places)
    at = normal_axis(dim, len(sizes), "flow.dim_gather")
    if len(sizes) != len(wanted) or any(a != b for k, (a, b) in enumerate(zip(sizes, wanted)) if k != at):
        raise ShapeError(f"flow.dim_gather: shapes {sizes} and {wanted} may differ along axis {at} alone")
    return call("dim_gather", value, places, dim=at)


def masked_fill(x: Blob, mask: Blob, value: float, name: Name = None) -> Blob:
    """Return the blob with a number where the mask holds."""
    blob = as_value(x)
    return ops.where(as_value(mask), ops.full_like(blob, value), blob)


def argwhere(condition: Blob, dtype: Any = None, name: Name = None) -> Blob:
    """Return the places of the elements that are not 0, one row each (int32, or ``dtype``)."""
    found: Blob = ops.argwhere(as_value(condition))
    return ops.cast(found, canonical_dtype(dtype or int32))


def nonzero(a: Blob, name: Name = None) -> Blob:
    """Return the places of the elements that are not 0, one column each."""
    return ops.transpose(argwhere(a), [1, 0])


def diag(input: Blob, diagonal: int = 0, name: Name = None) -> Blob:
    """Return the diagonal of a matrix, or the matrix that has a vector as its diagonal."""
    return call("diag", input, diagonal=int(diagonal))


# ---- ordering --------------------------------------------------------------------------------------------------------
def sort(input: Blob, axis: int = -1, direction: str = "ASCENDING", name: Name = None) -> Blob:
    """Sort along an axis, "ASCENDING" or "DESCENDING"."""
    return _along("flow.sort", "sort", input, axis, direction=_direction("flow.sort", direction))


def argsort(input: Blob, axis: int = -1, direction: str = "ASCENDING", name: Name = None) -> Blob:
    """Return the places (int32) that sort along an axis."""
    return _along("flow.argsort", "arg_sort", input, axis, direction=_direction("flow.argsort", direction))


def top_k(input: Blob, axis: int = -1, k: int = 1, sorted: bool = True, name: Name = None) -> Blob:
    """Return the places (int32) of the k largest elements along an axis."""
    return _along("flow.math.top_k", "top_k", input, axis, k=int(k), sorted=bool(sorted))


def _direction(asked_by: str, direction: str) -> str:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise UsageError(f"{asked_by}: direction is ASCENDING or DESCENDING, got {direction!r}")
    return direction


def _along(asked_by: str, op: str, input: Blob, axis: int, **attrs: Any) -> Blob:
    """Apply an op of the last axis along any."""
    value = as_value(input)
    ndim = ndim_of(value)
    at = normal_axis(axis, ndim, asked_by)
    if at == ndim - 1:
        return call(op, value, **attrs)
    return ops.swapaxes(call(op, ops.swapaxes(value, at, ndim - 1), **attrs), at, ndim - 1)


# ---- writing ---------------------------------------------------------------------------------------------------------
def slice_update(
    x: Blob, update: Blob, slice_tup_list: Sequence[tuple[int | None, int | None, int | None]], name: Name = None
) -> Blob:
    """Return the blob with another in the place of ``x[start:stop:step, ...]``; triples as ``flow.slice_v2`` takes."""
    value = as_value(x)
    start, stop, step = slice_attrs("flow.slice_update", slice_tup_list, shape_of(value))
    return call("slice_update", value, update, start=start, stop=stop, step=step)


def tensor_scatter_nd_update(params: Blob, updates: Blob, indices: Blob, name: Name = None) -> Blob:
    """Return the blob with rows of updates written where the indices name."""
    return call("tensor_scatter_nd_update", params, updates, indices)


# ---- adding up -------------------------------------------------------------------------------------------------------
def unsorted_segment_sum(data: Blob, segment_ids: Blob, num_segments: int, axis: int = 0, name: Name = None) -> Blob:
    """Add up the slices along an axis that have one segment number."""
    return call("unsorted_segment_sum", data, segment_ids, axis=int(axis), num_segments=int(num_segments))


def unsorted_segment_sum_like(data: Blob, segment_ids: Blob, like: Blob, axis: int = 0, name: Name = None) -> Blob:
    """Add up the slices along an axis that have one segment number, into the shape of another blob."""
    return call("unsorted_segment_sum_like", data, segment_ids, like, axis=int(axis))


def unsorted_batch_segment_sum(data: Blob, segment_ids: Blob, num_segments: int, name: Name = None) -> Blob:
    """Add up the slices that have one segment number, in each row of the batch."""
    return call("unsorted_batch_segment_sum", data, segment_ids, num_segments=int(num_segments))
