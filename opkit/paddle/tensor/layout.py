"""Axes, diagonals and shapes: more ways to arrange what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import matrices
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor import manipulation
from opkit.paddle.tensor.checks import ints, need_value, needed, plain_shape

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "broadcast_tensors",
    "diag_embed",
    "diagonal",
    "logspace",
    "reverse",
    "tolist",
    "unflatten",
    "view",
    "view_as",
]


# ---- number of axes --------------------------------------------------------------------------------------------------
def _at_least(inputs: tuple[Any, ...], raised: Any) -> Any:
    items = list(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else list(inputs)
    values = [raised(item if hasattr(item, "_data") else ops.as_value(item)) for item in items]
    return values[0] if len(values) == 1 else values


def atleast_1d(*inputs: Any, name: Name = None) -> Any:
    """Return tensors with one axis at least."""
    return _at_least(inputs, lambda x: ops.reshape(x, [1]) if x.ndim == 0 else x)


def atleast_2d(*inputs: Any, name: Name = None) -> Any:
    """Return tensors with two axes at least; a vector becomes a row."""
    return _at_least(
        inputs, lambda x: ops.reshape(x, [1, 1]) if x.ndim == 0 else ops.expand_dims(x, 0) if x.ndim == 1 else x
    )


def broadcast_tensors(input: Any, name: Name = None) -> list[Any]:
    """Return tensors broadcast to their common shape."""
    items = [need_value("broadcast_tensors", "input", item) for item in input]
    if not items:
        raise TypeError("broadcast_tensors: the list is empty")
    try:
        shape = np.broadcast_shapes(*[tuple(item.shape) for item in items])
    except ValueError as error:
        raise ShapeError(f"broadcast_tensors: the shapes do not fit ({error})") from None
    return [ops.broadcast_to(item, shape) for item in items]


def view(x: Any, shape_or_dtype: Any, name: Name = None) -> Any:
    """Return x in another shape, on the same memory; with a dtype, its bytes read as that dtype, without a gradient."""
    if isinstance(shape_or_dtype, (list, tuple)):
        return manipulation.reshape(x, shape_or_dtype)
    kind = np.dtype(canonical_dtype(shape_or_dtype))
    data = needed(x)._data
    return x if data.dtype == kind else ops.literal(np.ascontiguousarray(data).view(kind))


def view_as(x: Any, other: Any, name: Name = None) -> Any:
    """Return x in the shape of another tensor, on the same memory."""
    return manipulation.reshape(x, list(other.shape))


def unflatten(x: Any, axis: int, shape: Any, name: Name = None) -> Any:
    """Return x with one axis cut into several."""
    sizes = list(x.shape)
    axis %= len(sizes)
    return manipulation.reshape(x, sizes[:axis] + list(plain_shape("unflatten", shape)) + sizes[axis + 1 :])


def tolist(x: Any) -> Any:
    """Return the elements as nested lists of Python numbers."""
    return x.numpy().tolist()


def reverse(x: Any, axis: Any, name: Name = None) -> Any:
    """Return x with the order along axes reversed."""
    return manipulation.flip(x, axis)


# ---- diagonals -------------------------------------------------------------------------------------------------------
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: Name = None) -> Any:
    """Return the diagonals of two axes along a new last axis."""
    dims = needed(x).ndim
    if dims < 2:
        raise ShapeError(f"diagonal takes a tensor of at least two axes, got {list(x.shape)}")
    first, second = axis1 % dims, axis2 % dims
    if first == second:
        raise UsageError("diagonal: axis1 and axis2 must differ")
    return matrices.diagonal(x, offset, first, second)


def fill_diagonal(x: Any, value: float, offset: int = 0, wrap: bool = False) -> Any:
    """Return x with one number on its diagonal; of more than two axes, where all indices are equal."""
    if x.ndim != 2 and len(set(x.shape)) != 1:
        raise ShapeError(f"fill_diagonal_: more than two axes must have the same size, got {list(x.shape)}")
    number = value if x._data.dtype.kind == "f" else int(value)
    return matrices.diagonal_filled(x, number, offset, wraps=wrap)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices along two new axes whose diagonals are the last axis of the input."""
    value = input if hasattr(input, "_data") else ops.as_value(np.asarray(input))
    first, second = dim1 % (value.ndim + 1), dim2 % (value.ndim + 1)
    if first == second:
        raise UsageError("diag_embed: dim1 and dim2 must differ")
    return matrices.diagonal_matrices(value, offset, first, second)


def logspace(start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: Name = None) -> Any:
    """Return powers of the base whose exponents are evenly spaced, both ends included."""
    first, last, root = (float(item.item() if hasattr(item, "item") else item) for item in (start, stop, base))
    kind = default_dtype() if dtype is None else canonical_dtype(dtype)
    return ops.literal(np.logspace(first, last, ints(num)[0], base=root).astype(kind))
