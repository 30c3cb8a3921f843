"""Shapes as data: the sizes of a value, and shapes that are computed while a program runs.

Where all sizes are known, ``opkit.ops.arrange.shape`` and ``opkit.ops.basis`` have the plain ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Shape, TensorDesc, canonical_dtype
from opkit.ops.arrange.shape import reshape, reshape_like
from opkit.ops.arrange.slicing import slice as slice_of
from opkit.ops.basis.creation import cast, literal
from opkit.ops.basis.unbroadcast import multiply
from opkit.ops.core.define import NO_ATTRS, define
from opkit.ops.core.inference import shape_error
from opkit.ops.core.mode import local
from opkit.ops.core.types import Attrs, Descs, Ints
from opkit.ops.core.value import Value, ndim_of, shape_of


def _sizes(given: ndarray) -> Shape:
    return tuple(int(size) for size in given)


def _known(op: str, descs: Descs, place: int, attrs: Attrs) -> tuple[int, ...]:
    """Return what is known of the sizes, -1 for each that is not, if they fit the vector that brings them."""
    known, desc = tuple(attrs["known"]), descs[place]
    if desc.ndim != 1 or desc.shape[0] not in (-1, len(known)) or not desc.dtype.startswith("int"):
        raise shape_error(op, descs, f"the sizes are a vector of {len(known)} integers")
    return known


def _range_by(start: ndarray, limit: ndarray, step: ndarray, dtype: Any) -> ndarray:
    first, end, far = (int(item.reshape(-1)[0]) for item in (start, limit, step))
    return np.arange(first, end, far, dtype=np.dtype(dtype))


def _infer_range_by(descs: Descs, attrs: Attrs) -> Descs:
    if any(not desc.dtype.startswith("int") or set(desc.shape) - {1, -1} for desc in descs):
        raise shape_error("range_by", descs, "start, limit and step are integers")
    return [TensorDesc((-1,), attrs["dtype"])]


SHAPE_OF = define(
    "shape_of",
    "=x",
    "out",
    lambda x: np.array(x.shape, np.int32),
    infer=lambda descs, attrs: [TensorDesc((descs[0].ndim,), "int32")],
)
FILL_BY = define(
    "fill_by",
    "sizes",
    "out",
    lambda sizes, value, dtype, known: np.full(_sizes(sizes), value, dtype),
    infer=lambda descs, attrs: [TensorDesc(_known("fill_by", descs, 0, attrs), attrs["dtype"])],
    attrs="value:double dtype:data_type known:vector<int64>",
)
RESHAPE_BY = define(
    "reshape_by",
    "x sizes",
    "out",
    lambda x, sizes, known: np.array(x.reshape(_sizes(sizes))),
    infer=lambda descs, attrs: [TensorDesc(_known("reshape_by", descs, 1, attrs), descs[0].dtype)],
    grad=lambda applied, douts: (reshape_like(douts[0], applied.inputs[0]), None),
    attrs="known:vector<int64>",
)
RANGE_BY = define("range_by", "start limit step", "out", _range_by, infer=_infer_range_by, attrs="dtype:data_type")


def size_vector(x: Value) -> Value:
    """Return the sizes of a value as a vector of int32: those of the run where they are unknown before."""
    return local.mode.apply(SHAPE_OF, (x,), NO_ATTRS)


def size_along(x: Value, axis: int, dtype: Any) -> float | Value:
    """Return the size of an axis: a number where it is known, else that of the run, without axes, of a dtype."""
    size = shape_of(x)[axis]
    if size != -1:
        return float(size)
    place = axis % ndim_of(x)
    return cast(reshape(slice_of(size_vector(x), [0], [place], [place + 1]), ()), dtype)


def count_of(x: Value) -> int | Value:
    """Return the number of elements: an int where it is known, else that of the run, as int64."""
    sizes = shape_of(x)
    if -1 not in sizes:
        return int(np.prod(sizes, dtype=np.int64))
    known = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
    total: Any = literal(np.int64(known))
    for axis, size in enumerate(sizes):
        if size == -1:
            total = multiply(total, size_along(x, axis, "int64"))
    return total


def fill_by(sizes: Value, value: float, dtype: Any, known: Ints) -> Value:
    """Return a tensor filled with one number, of a shape that a vector of integers brings.

    Args:
        sizes: the vector.
        value: the number.
        dtype: of the result.
        known: what is known of the sizes before the run, -1 for each that is not.
    """
    attrs = {"value": float(value), "dtype": canonical_dtype(dtype), "known": tuple(known)}
    return local.mode.apply(FILL_BY, (sizes,), attrs)


def reshape_by(x: Value, sizes: Value, known: Ints) -> Value:
    """Return ``x`` in a shape that a vector of integers brings; one of them may be -1, arguments as in ``fill_by``."""
    return local.mode.apply(RESHAPE_BY, (x, sizes), {"known": tuple(known)})


def range_by(start: Value, limit: Value, step: Value, dtype: Any = "int64") -> Value:
    """Return the integers from ``start`` up to but excluding ``limit``, every ``step``-th, each of one element."""
    return local.mode.apply(RANGE_BY, (start, limit, step), {"dtype": canonical_dtype(dtype)})
