"""Making tensors: ``to_tensor`` and the functions that fill a shape."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor, wrap
from opkit.errors import DtypeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.mode import ever, local
from opkit.ops.core.references import OF_TEMPORARY
from opkit.ops.core.types import Name
from opkit.paddle.framework.place import place_of
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import needed, plain_shape, shape_or_size
from opkit.paddle.tensor.run_shapes import filled_in_run, range_in_run
from opkit.shim.missing import guard as _guard
from opkit.static.overwriting import overwrite

__all__ = [
    "arange",
    "assign",
    "clone",
    "diag",
    "empty",
    "empty_like",
    "eye",
    "fill_constant",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "to_tensor",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_new = object.__new__
_ndarray = ndarray
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Any:
    """Return a Tensor with a copy of the data.

    A temporary array is used without a copy, since this makes no visible difference.

    Args:
        data: a number, a list or tuple of numbers, an array, or a Tensor.
        dtype: left out: an array's own; of Python numbers and of lists of numbers, arrays or Tensors, the default dtype
            for floats, int64 for ints and int32, as in Paddle 2.6.2.
        place: where the data lives; opkit knows the CPU only.
        stop_gradient: False for a leaf that takes a gradient.

    Raises:
        TypeError: the data is of another type.
        ValueError: a nested list is ragged, or the place is not the CPU.
    """
    if type(data) is _ndarray and dtype is None and place is None and not (ever.static and local.mode.is_static):
        kind = data.dtype
        if kind is _FLOAT32 or kind is _FLOAT64:
            tensor = _new(Tensor)
            tensor._data = data if getrefcount(data) == OF_TEMPORARY and data.base is None else data.copy()
            tensor._sg = stop_gradient
            tensor._node = None
            tensor._index = 0
            return tensor
    if place is not None:
        place_of("to_tensor", place)
    return _convert(data, dtype, stop_gradient)


def _convert(data: Any, dtype: Any, stop_gradient: bool) -> Any:
    if local.mode.is_static:
        if hasattr(data, "_data") and not isinstance(data, Tensor):
            return ops.cast(data, canonical_dtype(dtype)) if dtype is not None else data
        return ops.literal(_array_of(data, dtype))
    if not isinstance(stop_gradient, bool):
        raise UsageError(f"to_tensor: stop_gradient takes a bool, got {type(stop_gradient).__name__}")
    return wrap(_array_of(data, dtype), stop_gradient)


def _array_of(data: Any, dtype: Any) -> ndarray:
    wanted = None if dtype is None else np.dtype(canonical_dtype(dtype))
    if isinstance(data, Tensor):
        return data._data.astype(wanted or data._data.dtype)
    if isinstance(data, (ndarray, np.generic)):
        array = np.array(data)
    elif isinstance(data, (bool, int, float, complex)):
        array = np.array(data) if wanted else _of_python(np.array(data))
    elif isinstance(data, (list, tuple)):
        array = _of_list(data, wanted is not None)
    elif hasattr(data, "__array__"):
        array = np.array(data)
    else:
        raise TypeError(
            f"to_tensor takes numbers, lists, tuples, arrays and Tensors, got {type(data).__name__} {data!r}"
        )
    try:
        canonical_dtype(array.dtype)
    except TypeError:
        raise DtypeError(f"to_tensor: a tensor cannot hold {array.dtype} data") from None
    return array if wanted is None else array.astype(wanted)


def _of_list(data: Any, has_dtype: bool) -> ndarray:
    try:
        array = np.array(_unwrapped(data))
    except ValueError as error:
        raise UsageError(f"to_tensor: the nested list is ragged ({error})") from None
    if array.dtype == object or array.dtype.kind in "SU":
        raise TypeError(f"to_tensor takes numbers, a list of {type(data[0]).__name__} is none")
    return array if has_dtype else _of_python(array)


def _unwrapped(data: Any) -> Any:
    """Return the list with arrays in place of Tensors."""
    if isinstance(data, Tensor):
        return data._data
    return [_unwrapped(item) for item in data] if isinstance(data, (list, tuple)) else data


def _of_python(array: ndarray) -> ndarray:
    """Return an array of Python numbers, or of a list of anything, in Paddle's dtype for them."""
    if array.dtype.kind == "f":
        return array.astype(default_dtype())
    if array.dtype.kind == "c":
        return array.astype(np.complex64 if default_dtype() == "float32" else np.complex128)
    return array.astype(np.int64) if array.dtype == np.int32 else array


def _dtype(dtype: Any) -> str:
    return default_dtype() if dtype is None else canonical_dtype(dtype)


def _filled(function: str, shape: Any, number: Any, kind: str) -> Any:
    made = filled_in_run(shape, number, kind) if ever.static and local.mode.is_static else None
    return ops.constant(number, shape_or_size(function, shape), kind) if made is None else made


def full(shape: Any, fill_value: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor filled with one number; without a dtype, the default one. An int is the shape of one axis."""
    value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    kind = _dtype(dtype)
    try:
        number = float(value) if kind.startswith("float") else value
    except (TypeError, ValueError):
        raise UsageError(f"full: fill_value is a number, got {fill_value!r}") from None
    return _filled("full", shape, number, kind)


def fill_constant(
    shape: Any, dtype: Any, value: Any, force_cpu: bool = False, out: Any = None, name: Name = None
) -> Any:
    """Return a tensor filled with one number, or write it into ``out`` and return that (the older form of ``full``)."""
    made = full(shape, value, dtype)
    return made if out is None else overwrite(out, made)


def zeros(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor of zeros; an int is the shape of one axis."""
    return _filled("zeros", shape, 0, _dtype(dtype))


def ones(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor of ones; an int is the shape of one axis."""
    return _filled("ones", shape, 1, _dtype(dtype))


def empty(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor whose content is not specified (opkit: zeros)."""
    return ops.constant(0, plain_shape("empty", shape), _dtype(dtype))


def full_like(x: Any, fill_value: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor of x's shape filled with one number."""
    value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    return ops.full_like(needed(x), value, None if dtype is None else canonical_dtype(dtype))


def zeros_like(x: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return zeros of x's shape."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return ones of x's shape."""
    return full_like(x, 1, dtype)


def empty_like(x: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return a tensor of x's shape whose content is not specified (opkit: zeros)."""
    return full_like(x, 0, dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: Name = None) -> Any:
    """Return ``start, start + step, ...`` below ``end``; int64 for ints, the default dtype for floats."""
    if end is None:
        start, end = 0, start
    if ever.static and local.mode.is_static:
        made = range_in_run(start, end, step, "int64" if dtype is None else canonical_dtype(dtype))
        if made is not None:
            return made
    values = [item.item() if hasattr(item, "item") else item for item in (start, end, step)]
    if not all(isinstance(item, (int, float)) for item in values):
        raise UsageError(f"arange takes numbers, got {start!r}, {end!r}, {step!r}")
    if dtype is None:
        dtype = default_dtype() if any(isinstance(item, float) for item in values) else "int64"
    kind = canonical_dtype(dtype)
    if all(isinstance(item, int) for item in values) and not kind.startswith("float"):
        return ops.range(values[0], values[1], values[2], kind)
    return ops.literal(np.arange(*values, dtype=kind))


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return evenly spaced numbers, both ends included."""
    if int(num) < 1:
        raise UsageError(f"linspace: num must be positive, got {num}")
    return ops.linspace(float(start), float(stop), int(num), _dtype(dtype))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: Name = None) -> Any:
    """Return a matrix with ones on the diagonal."""
    return ops.eye(num_rows, num_columns, _dtype(dtype))


def assign(x: Any, output: Any = None) -> Any:
    """Return a copy of a tensor, array or number through which gradients pass; or write it into ``output``.

    A float64 array becomes a float32 tensor, as in Paddle.
    """
    if isinstance(x, ndarray) and x.dtype == _FLOAT64:
        x = x.astype(_FLOAT32)
    copied = ops.identity(x) if hasattr(x, "_data") else to_tensor(x)
    if output is None:
        return copied
    return overwrite(output, copied)


def clone(x: Any, name: Name = None) -> Any:
    """Return a copy through which gradients pass."""
    return ops.identity(needed(x))


def tril(x: Any, diagonal: int = 0, name: Name = None) -> Any:
    """Return the lower triangle, zeros above the diagonal."""
    return ops.tril(needed(x), diagonal)


def triu(x: Any, diagonal: int = 0, name: Name = None) -> Any:
    """Return the upper triangle, zeros below the diagonal."""
    return ops.triu(needed(x), diagonal)


def diag(x: Any, offset: int = 0, padding_value: float = 0, name: Name = None) -> Any:
    """Return a matrix with x on its diagonal, or the diagonal of a matrix."""
    if padding_value:
        raise UsageError("diag: opkit pads with 0 only")
    return ops.diag(x if needed(x).ndim else ops.reshape(x, [1]), offset)


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the coordinate tensors of a grid, the first argument along the first axis."""
    axes = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    turned = [ops.reshape(axis, [-1 if i == k else 1 for k in range(len(axes))]) for i, axis in enumerate(axes)]
    sizes = [axis.shape[0] if axis.shape else 1 for axis in axes]
    if -1 not in sizes:
        return [ops.broadcast_to(axis, sizes) for axis in turned]
    grid = ops.fill_by(ops.concat([ops.size_vector(ops.reshape(axis, [-1])) for axis in axes], 0), 0.0, "bool", sizes)
    return [ops.broadcast_like(axis, grid) for axis in turned]


__getattr__ = _guard(globals())
