"""Ops that make tensors: constants, like-ops, ranges, and ``cast``.

Random tensors are made in ``opkit.ops.basis.random``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, ShapeError
from opkit.ir import STRICT, Shape, TensorDesc, canonical_dtype
from opkit.ops.core.define import NO_ATTRS, define, first_only, quiet
from opkit.ops.core.inference import in_dtype, like, unchanged
from opkit.ops.core.meeting import number_dtype
from opkit.ops.core.mode import local
from opkit.ops.core.types import Attrs, Descs
from opkit.ops.core.value import Value, dtype_of, is_value


def to_shape(shape: Any) -> Shape:
    """Return a shape given as an int or a sequence of ints.

    Raises:
        ShapeError: a size is negative (other than -1) or not an integer.
    """
    try:
        items = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        sizes = tuple(int(size.__index__()) for size in items)
    except (TypeError, AttributeError):
        raise ShapeError(f"a shape is a sequence of integers, got {shape!r}") from None
    if any(size < -1 for size in sizes):
        raise ShapeError(f"a shape has no negative sizes, got {sizes}")
    return sizes


def _declared(descs: Descs, attrs: Attrs) -> Descs:
    return [TensorDesc(tuple(attrs["shape"]), attrs["dtype"])]


# ---- cast ------------------------------------------------------------------------------------------------------------
@quiet
def _cast(x: ndarray, dtype: str) -> ndarray:
    return x.astype(dtype)


@quiet
def _cast_out(x: ndarray, dtype: str, out: ndarray) -> ndarray:
    np.copyto(out, x, casting="unsafe")
    return out


@quiet
def _cast_like_out(x: ndarray, like: Any, out: ndarray) -> ndarray:
    np.copyto(out, x, casting="unsafe")
    return out


def _back_to_input(applied: Any, dout: Value) -> Value:
    # An integer that needs a gradient gets one of its own dtype.
    return cast(dout, dtype_of(applied.inputs[0]))


CAST = define(
    "cast",
    "in",
    "out",
    _cast,
    infer=in_dtype,
    attrs="dtype:data_type",
    grad=first_only(_back_to_input),
    out=_cast_out,
    elementwise=True,
)
CAST_LIKE = define(
    "cast_like",
    "in =dtype_like",
    "out",
    quiet(lambda x, like: x.astype(like.dtype)),
    infer=like(0, dtype_from=1),
    grad=lambda applied, douts: (_back_to_input(applied, douts[0]), None),
    out=_cast_like_out,
)
IDENTITY = define(
    "identity",
    "in",
    "out",
    lambda x: x.copy(),
    infer=unchanged,
    grad=first_only(lambda applied, dout: dout),
    elementwise=True,
)

_CASTS: dict[np.dtype, Attrs] = {}


def cast(x: Value, dtype: Any) -> Value:
    """Return the value in another dtype; the value itself where it has that dtype already.

    Args:
        x: any shape and dtype.
        dtype: a dtype name, numpy dtype or framework dtype.
    """
    wanted = dtype if type(dtype) is np.dtype else np.dtype(canonical_dtype(dtype))
    if x._data.dtype == wanted:
        return x
    attrs = _CASTS.get(wanted)
    if attrs is None:
        attrs = _CASTS[wanted] = {"dtype": wanted.name}
    return local.mode.apply(CAST, (x,), attrs)


def cast_like(x: Value, like: Value) -> Value:
    """Return the value in the dtype of another."""
    return cast(x, dtype_of(like))


def identity(x: Value) -> Value:
    """Return a copy through which gradients pass."""
    return local.mode.apply(IDENTITY, (x,), NO_ATTRS)


# ---- constants -------------------------------------------------------------------------------------------------------
def _infer_range(descs: Descs, attrs: Attrs) -> Descs:
    start, delta, limit = attrs["start"], attrs["delta"], attrs["limit"]
    if not delta:
        raise ShapeError("op 'range': delta must not be 0")
    return [TensorDesc((max(0, int(np.ceil((limit - start) / delta))),), attrs["dtype"])]


def _fill_out(value: Any) -> Any:
    def fill(like: Any, out: ndarray) -> ndarray:
        out.fill(value)
        return out

    return fill


def _full_like_out(like: Any, value: float, dtype: str, out: ndarray) -> ndarray:
    out.fill(value)
    return out


CONSTANT = define(
    "constant",
    "",
    "out",
    lambda floating_value, integer_value, is_floating_value, dtype, shape: np.full(
        shape, floating_value if is_floating_value else integer_value, dtype
    ),
    infer=_declared,
    attrs="floating_value:double integer_value:int64 is_floating_value:bool dtype:data_type shape:shape",
    silent=True,
)
ZERO_LIKE = define(
    "zero_like", "=like", "out", lambda like: np.zeros(like.shape, like.dtype), infer=unchanged, out=_fill_out(0)
)
ONES_LIKE = define(
    "ones_like", "=like", "out", lambda like: np.ones(like.shape, like.dtype), infer=unchanged, out=_fill_out(1)
)
FULL_LIKE = define(
    "full_like",
    "=like",
    "out",
    lambda like, value, dtype: np.full(like.shape, value, dtype),
    infer=in_dtype,
    attrs="value:double dtype:data_type",
    out=_full_like_out,
    silent=True,
)
RANGE = define(
    "range",
    "",
    "out",
    lambda start, delta, limit, dtype: np.arange(start, limit, delta, dtype=dtype),
    infer=_infer_range,
    attrs="start:int64 delta:int64 limit:int64 dtype:data_type",
)
LITERAL = define(
    "literal",
    "",
    "out",
    lambda value: value.copy(),
    infer=lambda descs, attrs: [TensorDesc(attrs["value"].shape, attrs["value"].dtype.name)],
    attrs="value:object",
    silent=True,
)


def constant(value: float, shape: Any = (), dtype: Any = None) -> Value:
    """Return a tensor filled with one number.

    Args:
        value: a Python or numpy number, or bool.
        shape: the shape.
        dtype: left out: float32 for a float, int64 for an int, bool for a bool.
    """
    is_floating = isinstance(value, (float, np.floating))
    if dtype is None:
        dtype = "float32" if is_floating else "bool" if isinstance(value, (bool, np.bool_)) else "int64"
    attrs = {
        "floating_value": float(value) if is_floating else 0.0,
        "integer_value": 0 if is_floating else int(value),
        "is_floating_value": is_floating,
        "dtype": canonical_dtype(dtype),
        "shape": () if shape == () else to_shape(shape),
    }
    return local.mode.apply(CONSTANT, (), attrs)


def literal(array: Any) -> Value:
    """Return a tensor with the data of an array, which is copied."""
    value = np.array(array)
    canonical_dtype(value.dtype)
    return local.mode.apply(LITERAL, (), {"value": value})


def as_value(item: Any, like: Any = None) -> Value:
    """Return a value for a value, number, list or array; a Python number takes the dtype of ``like``.

    Raises:
        DtypeError: a tensor cannot hold it, or the dtype of ``like`` cannot hold the number.
    """
    if is_value(item):
        return item
    if is_value(like) and type(item) in (bool, int, float):
        return constant(item, (), number_dtype("constant", like, item, STRICT))
    try:
        return literal(item)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"a tensor, number or array is needed, got {type(item).__name__}: {error}") from None


def zeros_like(x: Value) -> Value:
    """Return zeros of the shape and dtype of another value."""
    return local.mode.apply(ZERO_LIKE, (x,), NO_ATTRS)


def ones_like(x: Value) -> Value:
    """Return ones of the shape and dtype of another value."""
    return local.mode.apply(ONES_LIKE, (x,), NO_ATTRS)


def full_like(x: Value, value: float, dtype: Any = None) -> Value:
    """Return a tensor of the shape of another value, filled with one number."""
    wanted = dtype_of(x).name if dtype is None else canonical_dtype(dtype)
    return local.mode.apply(FULL_LIKE, (x,), {"value": value, "dtype": wanted})


def range(start: int, limit: int, delta: int = 1, dtype: Any = "int64") -> Value:
    """Return the integers from ``start`` up to but excluding ``limit``, every ``delta``-th."""
    attrs = {"start": start, "delta": delta, "limit": limit, "dtype": canonical_dtype(dtype)}
    return local.mode.apply(RANGE, (), attrs)


def linspace(start: float, stop: float, count: int, dtype: Any = "float32") -> Value:
    """Return ``count`` evenly spaced numbers, both ends included."""
    return literal(np.linspace(start, stop, count).astype(canonical_dtype(dtype)))


def eye(rows: int, columns: int | None = None, dtype: Any = "float32") -> Value:
    """Return a matrix with ones on its main diagonal."""
    return literal(np.eye(rows, columns, dtype=canonical_dtype(dtype)))
