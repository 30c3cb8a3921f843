"""Indexing, and sliding over an array: gathers, scatters, slices at places that are data, convolutions, in numpy.

Operands and parameters are those of the primitives of ``jax.lax`` (XLA's operation semantics: Gather, Scatter,
DynamicSlice, DynamicUpdateSlice, Conv). A rule says NotImplemented where it leaves a call to JAX.

Linear algebra in numpy, of the primitives of ``jax.lax.linalg`` whose results are unique.

Eigenvectors and singular vectors are not: they are left to JAX, as is what numpy refuses (singular matrices).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode
from numpy.lib.stride_tricks import sliding_window_view

from opkit.ops.core.types import Function


def _gather(params: Any, x: Any, indices: Any) -> Any:
    found, inside = _slices(params["dimension_numbers"], x, indices, params["slice_sizes"])
    if params["mode"] != GatherScatterMode.FILL_OR_DROP or inside.all():
        return found
    return np.where(inside, found, np.asarray(_filling(params["fill_value"], x.dtype), x.dtype))


def _filling(value: Any, dtype: Any) -> Any:
    """Return what stands for an element beyond the array."""
    if value is not None:
        return value
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.nan


def _scatter(combine: Any) -> Function:
    """Return the rule of a scatter: what is there is combined with an update, or replaced where ``combine`` is None."""

    def run(params: Any, x: Any, indices: Any, updates: Any) -> Any:
        if not x.ndim or x.dtype.kind == "V":
            return NotImplemented
        dims = params["dimension_numbers"]
        hidden, windows = (*dims.inserted_window_dims, *dims.operand_batching_dims), iter(dims.update_window_dims)
        sizes = [1 if axis in hidden else updates.shape[next(windows)] for axis in range(x.ndim)]
        at, inside = _slices(dims, np.arange(x.size).reshape(x.shape), indices, sizes)
        kept = np.broadcast_to(inside | (params["mode"] == GatherScatterMode.CLIP), at.shape)
        result = np.array(x, order="C")
        if combine is None:
            result.reshape(-1)[at[kept]] = updates[kept]
        else:
            combine.at(result.reshape(-1), at[kept], updates[kept])
        return result

    return run


def _slices(dims: Sequence[Any], x: Any, indices: Any, sizes: Sequence[int]) -> list[Any]:
    """Return slices of an operand, moved into it, side by side, and in the same axes whether each lay in it.

    Args:
        dims: of the result the axes along slices; of the operand those that are not seen in a slice, those of which
            the last axis of ``indices`` has the places, and those that go along with an axis of ``indices``; these.
        x: the operand.
        indices: where slices start.
        sizes: of a slice.
    """
    shown, hidden, mapped, batched, along = dims
    given, outer = indices.astype(np.int64), indices.shape[:-1]
    starts = np.clip(given, 0, np.array([x.shape[axis] - sizes[axis] for axis in mapped], np.int64))
    at = [np.zeros(outer, np.int64)] * x.ndim
    for place, axis in enumerate(mapped):
        at[axis] = starts[..., place]
    for axis, place in zip(batched, along):
        at[axis] = line(outer, place)
    found = sliding_window_view(x, sizes)[tuple(at)].squeeze(tuple(len(outer) + axis for axis in (*hidden, *batched)))
    inside = (starts == given).all(axis=-1).reshape([*outer, *[1] * len(shown)])
    return [np.moveaxis(item, range(len(outer), item.ndim), shown) for item in (found, inside)]


def line(shape: Sequence[int], place: int) -> Any:
    """Return 0, 1, 2 ... along one axis of a shape."""
    return np.arange(shape[place]).reshape([-1 if axis == place else 1 for axis in range(len(shape))])


def _window(x: Any, sizes: Sequence[int], starts: Sequence[Any]) -> tuple[slice, ...]:
    lows = [min(max(int(start), 0), whole - size) for start, whole, size in zip(starts, x.shape, sizes)]
    return tuple(slice(low, low + size) for low, size in zip(lows, sizes))


def _dynamic_update_slice(params: Any, x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    result[_window(x, update.shape, starts)] = update
    return result


def _pad(params: Any, x: Any, value: Any) -> Any:
    config = params["padding_config"]
    sizes = [max((size - 1) * (inside + 1) + 1, 0) for size, (_, _, inside) in zip(x.shape, config)]
    result = np.full([max(low, 0) + size + max(high, 0) for size, (low, high, _) in zip(sizes, config)], value, x.dtype)
    whole = list(zip(result.shape, config))
    result[tuple(slice(max(low, 0), size - max(high, 0), inside + 1) for size, (low, high, inside) in whole)] = x
    return result[tuple(slice(max(-low, 0), size + min(high, 0)) for size, (low, high, _) in whole)]


def _conv(params: Any, x: Any, w: Any) -> Any:
    dims, features, batches = params["dimension_numbers"], params["feature_group_count"], params["batch_group_count"]
    x, w = x.transpose(dims.lhs_spec), w.transpose(dims.rhs_spec)
    if x.dtype.kind not in "fc" or 0 in w.shape or any(min(pair) < 0 for pair in params["padding"]):
        return NotImplemented
    margins = [(low, high, step - 1) for (low, high), step in zip(params["padding"], params["lhs_dilation"])]
    wide = _pad({"padding_config": [(0, 0, 0), (0, 0, 0), *margins]}, x, 0)
    extents = [(size - 1) * step + 1 for size, step in zip(w.shape[2:], params["rhs_dilation"])]
    if any(size < extent for size, extent in zip(wide.shape[2:], extents)):
        return NotImplemented
    axes = tuple(range(2, x.ndim))
    every = [slice(None, None, step) for step in (1, 1, *params["window_strides"], *params["rhs_dilation"])]
    windows = sliding_window_view(wide, extents, axes)[tuple(every)]
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
    "scatter": _scatter(None),
    "scatter-add": _scatter(np.add),
    "scatter-sub": _scatter(np.subtract),
    "scatter-mul": _scatter(np.multiply),
    "scatter-min": _scatter(np.minimum),
    "scatter-max": _scatter(np.maximum),
    "dynamic_slice": lambda params, x, *starts: x[_window(x, params["slice_sizes"], starts)],
    "dynamic_update_slice": _dynamic_update_slice,
    "pad": _pad,
    "conv_general_dilated": _conv,
}


def _cholesky(params: Any, x: Any) -> Any:
    try:
        return np.linalg.cholesky(x) if x.dtype.kind in "fc" else NotImplemented
    except np.linalg.LinAlgError:
        return NotImplemented


def _triangular_solve(params: Any, a: Any, b: Any) -> Any:
    """Return x of a x = b, or of x a = b, by substitution: pivots would cost the digits that JAX's solution has."""
    if a.dtype.kind not in "fc":
        return NotImplemented
    is_left, is_turned = params["left_side"], params["transpose_a"]
    a = a.conj() if params["conjugate_a"] else a
    # x a = b is a' x' = b'.
    a = a.swapaxes(-1, -2) if is_turned == is_left else a
    found = np.array(b if is_left else b.swapaxes(-1, -2))
    order = range(a.shape[-1])
    is_lower = params["lower"] != (is_turned == is_left)
    for row in order if is_lower else reversed(order):
        known = slice(row) if is_lower else slice(row + 1, None)
        found[..., row, :] -= (a[..., row : row + 1, known] @ found[..., known, :])[..., 0, :]
        if not params["unit_diagonal"]:
            found[..., row, :] /= a[..., row, row, None]
    return found if is_left else found.swapaxes(-1, -2)


def _lu(params: Any, x: Any) -> Any:
    """Return L below the diagonal of U, the rows that were exchanged one after the other, and where rows came from."""
    if x.dtype.kind not in "fc":
        return NotImplemented
    *outer, rows, columns = x.shape
    steps = min(rows, columns)
    made = np.array(x).reshape(-1, rows, columns)
    pivots = np.zeros((len(made), steps), np.int32)
    order = np.tile(np.arange(rows, dtype=np.int32), (len(made), 1))
    for part, pivot, places in zip(made, pivots, order):
        for step in range(steps):
            pivot[step] = other = step + int(np.argmax(abs(part[step:, step])))
            part[[step, other]], places[[step, other]] = part[[other, step]], places[[other, step]]
            if part[step, step] != 0:
                part[step + 1 :, step] /= part[step, step]
            part[step + 1 :, step + 1 :] -= np.outer(part[step + 1 :, step], part[step, step + 1 :])
    return made.reshape(x.shape), pivots.reshape(*outer, steps), order.reshape(*outer, rows)


LINALG: dict[str, Function] = {"cholesky": _cholesky, "triangular_solve": _triangular_solve, "lu": _lu}
