"""Reading and writing at index tuples (gather_nd, scatter_nd and similar ops) and along an axis element by element.

Selecting whole slices along an axis is in ``opkit.ops.arrange.selection``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import AutogradError
from opkit.ir import Shape, TensorDesc
from opkit.ops.arrange.selection import add_rows, check_indices, check_range
from opkit.ops.arrange.shape import reshape
from opkit.ops.basis.arithmetic import mul
from opkit.ops.core.define import NO_ATTRS, define
from opkit.ops.core.inference import broadcast_shape, is_same_size, like, shape_error
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import Infer, OpDef
from opkit.ops.core.types import Attrs, Descs, Ints, Values
from opkit.ops.core.value import Value, ndim_of, normal_axis


# ---- gather_nd, scatter_nd -------------------------------------------------------------------------------------------
def _places(indices: ndarray, shape: Shape, op: str) -> tuple[ndarray, ...]:
    depth = indices.shape[-1]
    for k in range(depth):
        check_range(op, indices[..., k], shape[k])
    return tuple(indices[..., k] for k in range(depth))


def _scatter_nd(indices: ndarray, updates: ndarray, shape: Ints) -> ndarray:
    return _scatter_add(np.zeros(tuple(shape), updates.dtype), updates, indices)


def _scatter_add(params: ndarray, updates: ndarray, indices: ndarray) -> ndarray:
    total = np.array(params)
    depth = indices.shape[-1]
    places = _places(indices, params.shape, "scatter_nd")
    count = int(np.prod(params.shape[:depth]))
    flat = np.ravel_multi_index(places, params.shape[:depth]).reshape(-1) if depth else np.zeros(1, np.int64)
    tail = params.shape[depth:]
    if updates.shape != (*indices.shape[:-1], *tail):
        raise ValueError("the updates do not fit")  # which inference explains
    rows = total.reshape(count, *tail)
    add_rows(rows, updates.reshape(flat.size, *tail), flat)
    return rows.reshape(params.shape)


def _scatter_update(params: ndarray, updates: ndarray, indices: ndarray) -> ndarray:
    total = np.array(params)
    total[_places(indices, params.shape, "tensor_scatter_nd_update")] = updates
    return total


def _infer_gather_nd(descs: Descs, attrs: Attrs) -> Descs:
    params, indices = descs
    check_indices("gather_nd", descs, 1)
    depth = indices.shape[-1] if indices.ndim else 0
    if not 0 < depth <= params.ndim:
        raise shape_error("gather_nd", descs, "the last axis of the indices counts axes of the tensor")
    return [TensorDesc((*indices.shape[:-1], *params.shape[depth:]), params.dtype)]


def _infer_scatter_add(descs: Descs, attrs: Attrs) -> Descs:
    params, updates, indices = descs
    check_indices("tensor_scatter_nd_add", [params, indices], 1)
    (slices,) = _infer_gather_nd([params, indices], attrs)
    if len(updates.shape) != len(slices.shape) or not all(map(is_same_size, updates.shape, slices.shape)):
        raise shape_error("tensor_scatter_nd_add", descs, f"the updates need the shape {list(slices.shape)}")
    return [params]


def _pick(params: Value, indices: Value) -> Value:
    return local.mode.apply(GATHER_ND, (params, indices), NO_ATTRS)


def _update_grad(applied: Any, douts: Values) -> Values:
    indices = applied.inputs[2]
    blank = perform(SCATTER_UPDATE, douts[0], mul(_pick(douts[0], indices), 0), indices)
    return blank, _pick(douts[0], indices), None


GATHER_ND = define(
    "gather_nd",
    "params indices",
    "out",
    lambda params, indices: params[_places(indices, params.shape, "gather_nd")],
    infer=_infer_gather_nd,
    grad=lambda applied, douts: (perform(SCATTER_ND_LIKE, applied.inputs[0], applied.inputs[1], douts[0]), None),
    reads="indices",
)
SCATTER_ND = define(
    "scatter_nd",
    "indices updates",
    "out",
    _scatter_nd,
    infer=lambda descs, attrs: [TensorDesc(tuple(attrs["shape"]), descs[1].dtype)],
    attrs="shape:shape",
    grad=lambda applied, douts: (None, _pick(douts[0], applied.inputs[0])),
    reads="indices",
)
SCATTER_ND_LIKE: OpDef = define(
    "scatter_nd_like",
    "=like indices updates",
    "out",
    lambda like, indices, updates: _scatter_nd(indices, updates, like.shape),
    infer=like(0, dtype_from=2),
    grad=lambda applied, douts: (None, None, _pick(douts[0], applied.inputs[1])),
    reads="indices",
)
SCATTER_ADD = define(
    "tensor_scatter_nd_add",
    "params updates indices",
    "out",
    _scatter_add,
    infer=_infer_scatter_add,
    grad=lambda applied, douts: (douts[0], _pick(douts[0], applied.inputs[2]), None),
    reads="indices",
)
SCATTER_UPDATE = define(
    "tensor_scatter_nd_update",
    "params updates indices",
    "out",
    _scatter_update,
    infer=like(0),
    grad=_update_grad,
    reads="indices",
)


def gather_nd(x: Value, indices: Value) -> Value:
    """Return the slices of ``x`` at the index tuples in the last axis of the indices."""
    return _pick(x, indices)


def scatter_nd_add(x: Value, indices: Value, updates: Value) -> Value:
    """Return ``x`` with updates added at the index tuples; those of equal tuples add up."""
    return local.mode.apply(SCATTER_ADD, (x, updates, indices), NO_ATTRS)


def scatter(x: Value, indices: Value, updates: Value) -> Value:
    """Return ``x`` with the rows that a vector of indices names replaced by the updates."""
    return local.mode.apply(SCATTER_UPDATE, (x, updates, reshape(indices, (-1, 1))), NO_ATTRS)


# ---- dim_gather, dim_scatter_add_like (take_along_axis) --------------------------------------------------------------
def _dim_gather(x: ndarray, index: ndarray, dim: int) -> Any:
    check_range("dim_gather", index, x.shape[dim])
    return x[_along(index, dim)]


def _along(index: ndarray, dim: int) -> tuple[ndarray, ...]:
    grid = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _dim_add(like: Any, x: ndarray, index: ndarray, dim: int) -> ndarray:
    total = np.zeros(like.shape, x.dtype)
    np.add.at(total, _along(index, dim), x)
    return total


def _dim_put(x: ndarray, index: ndarray, value: ndarray, dim: int) -> ndarray:
    check_range("put_along_axis", index, x.shape[dim])
    total = np.array(x)
    total[_along(index, dim)] = value
    return total


def _dim_multiply(x: ndarray, index: ndarray, value: ndarray, dim: int) -> ndarray:
    check_range("multiply_along_axis", index, x.shape[dim])
    total = np.array(x)
    np.multiply.at(total, _along(index, dim), value)
    return total


def _dim_multiply_grad(applied: Any, douts: Values) -> Values:
    raise AutogradError("op 'multiply_along_axis' has no gradient in opkit", help="detach() its inputs, or use 'add'")


def _infer_dim_gather(descs: Descs, attrs: Attrs) -> Descs:
    x, index = descs
    check_indices("dim_gather", descs, 1)
    if x.ndim != index.ndim:
        raise shape_error("dim_gather", descs, "both must have the same number of axes")
    normal_axis(attrs["dim"], x.ndim, "dim_gather")
    return [TensorDesc(index.shape, x.dtype)]


def _infer_along(op: str, index: int, value: int, dtype_from: int = 0) -> Infer:
    """Return the inference of an op whose result has the shape of its first input, changed along an axis.

    Args:
        op: its name.
        index: which input holds the places.
        value: which holds what is written there.
        dtype_from: which has the result's dtype.
    """

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_indices(op, descs, index)
        normal_axis(attrs["dim"], descs[0].ndim, op)
        spread = broadcast_shape(op, [descs[index], descs[value]])
        if descs[index].ndim != descs[0].ndim or not all(map(is_same_size, spread, descs[index].shape)):
            raise shape_error(op, descs, "the indices must have as many axes as what is changed, the values fit them")
        return [TensorDesc(descs[0].shape, descs[dtype_from].dtype)]

    return infer


def _dim_put_grad(applied: Any, douts: Values) -> Values:
    index = applied.inputs[1]
    picked = perform(DIM_GATHER, douts[0], index, **applied.attrs)
    return perform(DIM_PUT, douts[0], index, mul(picked, 0), **applied.attrs), None, picked


DIM_GATHER = define(
    "dim_gather",
    "input index",
    "output",
    _dim_gather,
    infer=_infer_dim_gather,
    attrs="dim:int32",
    grad=lambda applied, douts: (
        perform(DIM_ADD, applied.inputs[0], douts[0], applied.inputs[1], **applied.attrs),
        None,
    ),
    reads="index",
)
DIM_ADD: OpDef = define(
    "dim_scatter_add_like",
    "=like input index",
    "output",
    _dim_add,
    infer=_infer_along("dim_scatter_add_like", 2, 1, 1),
    attrs="dim:int32",
    grad=lambda applied, douts: (None, perform(DIM_GATHER, douts[0], applied.inputs[2], **applied.attrs), None),
    reads="index",
)


def _define_changing(name: str, kernel: Any, grad: Any, reads: str) -> OpDef:
    """Define an op that changes x where an index along an axis says, by a value for each place."""
    infer = _infer_along(name, 1, 2)
    return define(name, "x index value", "out", kernel, infer=infer, attrs="dim:int32", grad=grad, reads=reads)


DIM_PUT = _define_changing("put_along_axis", _dim_put, _dim_put_grad, "index")

DIM_MULTIPLY = _define_changing("multiply_along_axis", _dim_multiply, _dim_multiply_grad, "x index value")


def take_along_axis(x: Value, indices: Value, axis: int) -> Value:
    """Return, at each place, the element of ``x`` with the axis' index replaced by the one in ``indices``."""
    return local.mode.apply(DIM_GATHER, (x, indices), {"dim": normal_axis(axis, ndim_of(x), "dim_gather")})


def put_along_axis(x: Value, indices: Value, values: Value, axis: int) -> Value:
    """Return ``x`` with values assigned where ``take_along_axis`` would read (of one place the last one counts)."""
    attrs = {"dim": normal_axis(axis, ndim_of(x), "put_along_axis")}
    return local.mode.apply(DIM_PUT, (x, indices, values), attrs)


def add_along_axis(like: Value, indices: Value, values: Value, axis: int) -> Value:
    """Return zeros of the shape of ``like`` with values added where ``take_along_axis`` would read."""
    attrs = {"dim": normal_axis(axis, ndim_of(like), "add_along_axis")}
    return local.mode.apply(DIM_ADD, (like, values, indices), attrs)


def multiply_along_axis(x: Value, indices: Value, values: Value, axis: int) -> Value:
    """Return ``x`` with values multiplied where ``take_along_axis`` would read; a gradient of it is an error."""
    attrs = {"dim": normal_axis(axis, ndim_of(x), "multiply_along_axis")}
    return local.mode.apply(DIM_MULTIPLY, (x, indices, values), attrs)
