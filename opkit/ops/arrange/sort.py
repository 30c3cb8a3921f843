"""Order and search: sort, argsort, top_k, positions of non-zeros, unique values, masks.

Arg max and min are in ``opkit.ops.reduce.extremes``.

Ordinals of categories: numbers in the order in which values are first seen, kept from run to run.

Source: OneFlow v0.4 (name and arguments).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UsageError
from opkit.ir import TensorDesc, canonical_dtype
from opkit.ops.arrange.scattering import gather_nd, take_along_axis
from opkit.ops.arrange.shape import reshape, swapaxes
from opkit.ops.basis.arithmetic import neg
from opkit.ops.basis.creation import cast
from opkit.ops.core.define import define
from opkit.ops.core.inference import is_same_size, shape_error, unchanged
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis, shape_of


# ---- argsort, sort (over the last axis) ----------------------------------------------------------------------------
def _arg_sort(x: ndarray, direction: str) -> Any:
    if direction == "DESCENDING":  # stable: of equal ones the first stays first
        order = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        return (x.shape[-1] - 1 - order).astype(np.int32)
    return np.argsort(x, axis=-1, kind="stable").astype(np.int32)


def _sort_grad(applied: Any, douts: Values) -> Values:
    order = perform(ARG_SORT, applied.inputs[0], **applied.attrs)
    inverse = perform(ARG_SORT, order, direction="ASCENDING")
    return (take_along_axis(douts[0], inverse, -1),)


_DIRECTION: dict[str, Any] = {"attrs": "direction:string", "defaults": {"direction": "ASCENDING"}}
ARG_SORT = define(
    "arg_sort", "in", "out", _arg_sort, infer=lambda descs, attrs: [TensorDesc(descs[0].shape, "int32")], **_DIRECTION
)
SORT = define(
    "sort",
    "in",
    "out",
    lambda x, direction: np.take_along_axis(x, _arg_sort(x, direction).astype(np.int64), -1),
    infer=unchanged,
    grad=_sort_grad,
    reads="in",
    **_DIRECTION,
)


def _over_last(opdef: Any, x: Value, axis: int, attrs: Attrs) -> Value:
    last = ndim_of(x) - 1
    at = normal_axis(axis, last + 1, opdef.name)
    if at == last:
        return local.mode.apply(opdef, (x,), attrs)
    return swapaxes(local.mode.apply(opdef, (swapaxes(x, at, last),), attrs), at, last)


def _direction(descending: bool) -> Attrs:
    return {"direction": "DESCENDING" if descending else "ASCENDING"}


def sort(x: Value, axis: int = -1, descending: bool = False) -> Value:
    """Return ``x`` in order along an axis; equal ones keep their order."""
    return _over_last(SORT, x, axis, _direction(descending))


def argsort(x: Value, axis: int = -1, descending: bool = False, dtype: Any = "int64") -> Value:
    """Return the indices that put ``x`` in order along an axis; equal ones keep their order."""
    return cast(_over_last(ARG_SORT, x, axis, _direction(descending)), dtype)


# ---- top_k -----------------------------------------------------------------------------------------------------------
def _top_k(x: ndarray, k: int, sorted: bool) -> Any:
    return _arg_sort(x, "DESCENDING")[..., :k]


def _infer_top_k(descs: Descs, attrs: Attrs) -> Descs:
    size = descs[0].shape[-1]
    return [TensorDesc((*descs[0].shape[:-1], attrs["k"] if size == -1 else min(size, attrs["k"])), "int32")]


TOP_K = define("top_k", "in", "out", _top_k, infer=_infer_top_k, attrs="k:int32 sorted:bool")


def topk(x: Value, k: int, axis: int = -1, largest: bool = True, dtype: Any = "int64") -> tuple[Value, Value]:
    """Return the k largest (or smallest) along an axis, in order, and their indices.

    Raises:
        ShapeError: the axis has fewer than k.
    """
    size = shape_of(x)[normal_axis(axis, ndim_of(x), "top_k")]
    if k < 1 or k > size != -1:
        raise ShapeError(f"op 'top_k': k is {k} for an axis of size {size}")
    key = x if largest else neg(x)
    places = cast(_over_last(TOP_K, key, axis, {"k": int(k), "sorted": True}), dtype)
    return take_along_axis(x, places, axis), places


# ---- positions, masks, unique: sizes depend on the data --------------------------------------------------------------
def _argwhere(x: ndarray, dtype: str) -> tuple[ndarray, ndarray]:
    places = np.argwhere(x).astype(dtype)
    return places, np.array([len(places)], dtype)


# Source: OneFlow v0.4, which pads the list of places to the number of elements; here it has its own length.
ARGWHERE = define(
    "argwhere",
    "input",
    "output output_size",
    _argwhere,
    infer=lambda descs, attrs: [TensorDesc((-1, descs[0].ndim), attrs["dtype"]), TensorDesc((1,), attrs["dtype"])],
    attrs="dtype:data_type",
    defaults={"dtype": "int32"},
)


def argwhere(x: Value, dtype: Any = "int64") -> Value:
    """Return the index tuples of the elements that are not 0, one row each."""
    places, _ = local.mode.apply(ARGWHERE, (x,), {"dtype": canonical_dtype(dtype)})
    return places


def masked_select(x: Value, mask: Value) -> Value:
    """Return the elements of ``x`` where the mask, of its shape, is true, as a vector."""
    if not all(map(is_same_size, shape_of(x), shape_of(mask))) or ndim_of(x) != ndim_of(mask):
        raise ShapeError(f"masked_select: the mask has shape {shape_of(mask)}, the tensor {shape_of(x)}")
    return reshape(gather_nd(x, argwhere(mask)), (-1,))


def _unique(x: ndarray, out_idx: str) -> tuple[ndarray, ...]:
    values, first, places, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return values, first.astype(out_idx), places.reshape(-1).astype(out_idx), counts.astype(out_idx)


def _infer_unique(descs: Descs, attrs: Attrs) -> Descs:
    index = attrs["out_idx"]
    count = 1
    for size in descs[0].shape:
        count = -1 if -1 in (size, count) else count * size
    return [
        TensorDesc((-1,), descs[0].dtype),
        TensorDesc((-1,), index),
        TensorDesc((count,), index),
        TensorDesc((-1,), index),
    ]


UNIQUE = define(
    "unique_values",
    "x",
    "y first idx count",
    _unique,
    infer=_infer_unique,
    attrs="out_idx:data_type",
    defaults={"out_idx": "int32"},
)


def unique(x: Value, dtype: Any = "int64") -> tuple[Value, Value, Value, Value]:
    """Return the distinct values in order, where each occurs first, each element's place among them, the counts."""
    results = local.mode.apply(UNIQUE, (x,), {"out_idx": canonical_dtype(dtype)})
    return results[0], results[1], results[2], results[3]


# The padded form: as long as x, and the number of distinct values apart.
def _unique_with_counts(x: ndarray, out_idx: str) -> tuple[ndarray, ...]:
    values, first, places, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    padded, numbers = np.zeros(x.size, x.dtype), np.zeros(x.size, out_idx)
    padded[: len(order)], numbers[: len(order)] = values[order], counts[order]
    return padded, rank[places.reshape(-1)].astype(out_idx), numbers, np.array([len(order)], out_idx)


def _infer_unique_with_counts(descs: Descs, attrs: Attrs) -> Descs:
    x, index = descs[0], attrs["out_idx"]
    if x.ndim != 1:
        raise shape_error("unique_with_counts", descs, "it takes a vector")
    return [x, TensorDesc(x.shape, index), TensorDesc(x.shape, index), TensorDesc((1,), index)]


UNIQUE_WITH_COUNTS = define(
    "unique_with_counts",
    "x",
    "y idx count num_unique",
    _unique_with_counts,
    infer=_infer_unique_with_counts,
    attrs="out_idx:data_type",
    defaults={"out_idx": "int32"},
)


def _searchsorted(edges: ndarray, x: ndarray, right: bool, dtype: str) -> ndarray:
    side: Any = "right" if right else "left"
    if edges.ndim == 1:
        return np.asarray(np.searchsorted(edges, x, side)).astype(dtype)
    rows = edges.reshape(-1, edges.shape[-1])
    queries = x.reshape(len(rows), -1)
    found = [np.searchsorted(row, query, side) for row, query in zip(rows, queries)]
    return np.array(found, dtype).reshape(x.shape)


SEARCHSORTED = define(
    "searchsorted",
    "edges x",
    "out",
    _searchsorted,
    infer=lambda descs, attrs: [TensorDesc(descs[1].shape, attrs["dtype"])],
    attrs="right:bool dtype:data_type",
)


def searchsorted(edges: Value, x: Value, right: bool = False, dtype: Any = "int64") -> Value:
    """Return, for each x, where it would be inserted into the sorted edges."""
    attrs = {"right": bool(right), "dtype": canonical_dtype(dtype)}
    return local.mode.apply(SEARCHSORTED, (edges, x), attrs)


def _encode(table: ndarray, size: ndarray, x: ndarray, hash_precomputed: bool) -> ndarray:
    """Return the ordinals, from 1; the table holds the values seen at even places, their ordinals at odd ones."""
    count, room = int(size[0]), table.size // 2
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    held = table[: 2 * count : 2]
    order = np.argsort(held)
    at = np.searchsorted(held, values, sorter=order)
    nearest = order[np.minimum(at, count - 1)] if count else np.zeros(len(values), np.intp)
    is_known = held[nearest] == values if count else np.zeros(len(values), bool)
    unseen = np.flatnonzero(~is_known)
    unseen = unseen[np.argsort(first[unseen])]
    if count + len(unseen) > room:
        raise UsageError(
            f"op 'CategoricalOrdinalEncode': {count + len(unseen)} values were seen, the table has room for {room}",
            help="give the encoder a larger capacity",
        )
    ordinals = (nearest + 1).astype(x.dtype)
    ordinals[unseen] = np.arange(count + 1, count + 1 + len(unseen))
    table[2 * count : 2 * (count + len(unseen)) : 2] = values[unseen]
    table[2 * count + 1 : 2 * (count + len(unseen)) + 1 : 2] = ordinals[unseen]
    size[0] = count + len(unseen)
    return ordinals[places.reshape(-1)].reshape(x.shape)


def _infer(descs: Descs, attrs: Attrs) -> Descs:
    table, size, x = descs
    if table.ndim != 1 or size.shape != (1,) or len({desc.dtype for desc in descs}) > 1:
        told = "the table is a vector, the size has one element, and all have one dtype"
        raise shape_error("CategoricalOrdinalEncode", descs, told)
    return [x]


CATEGORICAL_ORDINAL_ENCODE = define(
    "CategoricalOrdinalEncode",
    "table size in",
    "out",
    _encode,
    infer=_infer,
    attrs="hash_precomputed:bool",
    defaults={"hash_precomputed": True},
    writes="table size",
)
