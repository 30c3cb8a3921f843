"""Indexing, and sliding over an array: gathers, scatters, slices at places that are data, convolutions, in numpy.

Operands and parameters are those of the primitives of ``jax.lax`` (XLA's operation semantics: Gather, Scatter,
DynamicSlice, DynamicUpdateSlice, Conv). A rule says NotImplemented where it leaves a call to JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode
from numpy.lib.stride_tricks import sliding_window_view

from opkit.ops.core.types import Function

#: What combines what is there with an update, None where the update takes its place.
_SCATTERS: dict[str, Any] = {
    "scatter": None,
    "scatter-add": np.add,
    "scatter-sub": np.subtract,
    "scatter-mul": np.multiply,
    "scatter-min": np.minimum,
    "scatter-max": np.maximum,
}


def _gather(params: Any, x: Any, indices: Any) -> Any:
    dims, sizes, mode = params["dimension_numbers"], params["slice_sizes"], params["mode"]
    starts, inside = _starts(x.shape, indices, sizes, dims.start_index_map)
    hidden = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    shown = [axis for axis in range(x.ndim) if axis not in hidden]
    rank = indices.ndim - 1 + len(shown)
    outer = [place for place in range(rank) if place not in dims.offset_dims]
    shape = [0] * rank
    for place, size in zip((*outer, *dims.offset_dims), (*indices.shape[:-1], *(sizes[axis] for axis in shown))):
        shape[place] = size
    batches = dict(zip(dims.operand_batching_dims, dims.start_indices_batching_dims))
    places = _places(x.ndim, starts, shape, outer, dict(zip(shown, dims.offset_dims)), dims.start_index_map, batches)
    found = np.broadcast_to(x[tuple(places)], shape)
    if mode != GatherScatterMode.FILL_OR_DROP or inside.all():
        return found
    return np.where(_along(inside, outer, rank), found, np.asarray(_filling(params["fill_value"], x.dtype), x.dtype))


def _filling(value: Any, dtype: Any) -> Any:
    """Return what stands for an element beyond the array."""
    if value is not None:
        return value
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.nan


def _scatter(combine: Any) -> Function:
    def run(params: Any, x: Any, indices: Any, updates: Any) -> Any:
        if not x.ndim or x.dtype.kind == "V":
            return NotImplemented
        dims, mode = params["dimension_numbers"], params["mode"]
        hidden = {*dims.inserted_window_dims, *dims.operand_batching_dims}
        shown = [axis for axis in range(x.ndim) if axis not in hidden]
        windows = dict(zip(shown, dims.update_window_dims))
        sizes = [updates.shape[windows[axis]] if axis in windows else 1 for axis in range(x.ndim)]
        starts, inside = _starts(x.shape, indices, sizes, dims.scatter_dims_to_operand_dims)
        outer = [place for place in range(updates.ndim) if place not in dims.update_window_dims]
        batches = dict(zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims))
        places = _places(x.ndim, starts, updates.shape, outer, windows, dims.scatter_dims_to_operand_dims, batches)
        at = tuple(np.broadcast_to(place, updates.shape) for place in places)
        if mode != GatherScatterMode.CLIP and not inside.all():
            kept = np.broadcast_to(_along(inside, outer, updates.ndim), updates.shape)
            at, updates = tuple(place[kept] for place in at), updates[kept]
        result = np.array(x)
        if combine is None:
            result[at] = updates
        else:
            combine.at(result, at, updates)
        return result

    return run


def _starts(shape: Sequence[int], indices: Any, sizes: Sequence[int], mapped: Sequence[int]) -> tuple[Any, Any]:
    """Return where slices start, moved into the array, and which of them lay in it."""
    last = np.array([shape[axis] - sizes[axis] for axis in mapped], np.int64)
    given = indices.astype(np.int64)
    starts = np.clip(given, 0, last) if len(mapped) else given
    return starts, (starts == given).all(axis=-1)


def _places(
    rank: int,
    starts: Any,
    shape: Sequence[int],
    outer: Sequence[int],
    windows: dict[int, int],
    mapped: Sequence[int],
    batches: dict[int, int],
) -> list[Any]:
    """Return the index along each axis of an operand of each element of slices of it, as arrays to be broadcast.

    Args:
        rank: of the operand.
        starts: where slices start, the last axis over ``mapped``.
        shape: of the slices side by side.
        outer: the axes of that which are those of ``starts``, but for its last.
        windows: {axis of the operand: axis of the slices}, of those that are seen in a slice.
        mapped: the axes of the operand of which ``starts`` has the places.
        batches: {axis of the operand: axis of starts with which it goes along}.
    """
    found = []
    for axis in range(rank):
        if axis in batches:
            index = _line(shape, outer[batches[axis]])
        else:
            index = _line(shape, windows[axis]) if axis in windows else np.zeros([1] * len(shape), np.int64)
            if axis in mapped:
                index = index + _along(starts[..., mapped.index(axis)], outer, len(shape))
        found.append(index)
    return found


def _line(shape: Sequence[int], place: int) -> Any:
    """Return 0, 1, 2 ... along one axis of a shape."""
    return np.arange(shape[place]).reshape([-1 if axis == place else 1 for axis in range(len(shape))])


def _along(array: Any, outer: Sequence[int], rank: int) -> Any:
    """Return an array whose axes lie at these of more."""
    return array.reshape([array.shape[outer.index(axis)] if axis in outer else 1 for axis in range(rank)])


def _window(x: Any, sizes: Sequence[int], starts: Sequence[Any]) -> tuple[slice, ...]:
    lows = [min(max(int(start), 0), whole - size) for start, whole, size in zip(starts, x.shape, sizes)]
    return tuple(slice(low, low + size) for low, size in zip(lows, sizes))


def _dynamic_slice(params: Any, x: Any, *starts: Any) -> Any:
    return x[_window(x, params["slice_sizes"], starts)] if len(starts) == x.ndim else NotImplemented


def _dynamic_update_slice(params: Any, x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    result[_window(x, update.shape, starts)] = update
    return result


def _conv(params: Any, x: Any, w: Any) -> Any:
    dims, margins = params["dimension_numbers"], params["padding"]
    x, w = x.transpose(dims.lhs_spec), w.transpose(dims.rhs_spec)
    dilations, strides = params["rhs_dilation"], params["window_strides"]
    if x.dtype.kind not in "fc" or min(w.shape, default=0) == 0 or any(min(pair) < 0 for pair in margins):
        return NotImplemented
    spread = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], params["lhs_dilation"])]
    wide = np.zeros([*x.shape[:2], *(low + size + high for size, (low, high) in zip(spread, margins))], x.dtype)
    inner = [slice(low, low + size, step) for (low, _), size, step in zip(margins, spread, params["lhs_dilation"])]
    wide[tuple(2 * [slice(None)] + inner)] = x
    extents = [(size - 1) * step + 1 for size, step in zip(w.shape[2:], dilations)]
    if any(size < extent for size, extent in zip(wide.shape[2:], extents)):
        return NotImplemented
    axes = tuple(range(2, x.ndim))
    every = [slice(None, None, step) for step in (1, 1, *strides, *dilations)]
    windows = sliding_window_view(wide, extents, axes)[tuple(every)]
    features, batches = params["feature_group_count"], params["batch_group_count"]
    parts = [
        np.tensordot(one, kernel, ((1, *(place + len(axes) for place in axes)), (1, *axes)))
        for one, kernel in zip(
            np.split(windows, features, axis=1) if features > 1 else np.split(windows, batches),
            np.split(w, max(features, batches)),
        )
    ]
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 1).transpose(np.argsort(dims.out_spec))


INDEXING: dict[str, Function] = {
    "gather": _gather,
    **{name: _scatter(combine) for name, combine in _SCATTERS.items()},
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "conv_general_dilated": _conv,
}
