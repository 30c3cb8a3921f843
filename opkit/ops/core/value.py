"""What op builders and gradient rules may read from a value, in every mode: its shape and its dtype.

A value is an eager Tensor, a static Variable, or what remains of one whose data was dropped. Each has an attribute
``_data`` with a ``shape`` (a tuple; -1 where a size is known only at run time) and a ``dtype`` (a numpy dtype): a
Tensor's is its array, a Variable's an ``Abstract``. The current mode does not matter here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from opkit.errors import DtypeError, ShapeError, UnsupportedError
from opkit.ir import TensorDesc, canonical_dtype, to_numpy

#: A Tensor or a Variable. Its class depends on the mode, so the builders take and return Any.
Value: TypeAlias = Any


class Abstract:
    """Shape and dtype without data: the ``_data`` of a static Variable.

    Args:
        shape: sizes, -1 where unknown until the program runs.
        dtype: the numpy dtype, or anything ``numpy.dtype`` reads.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @classmethod
    def of(cls, desc: TensorDesc) -> Abstract:
        """Return the abstract data for a description."""
        return cls(desc.shape, to_numpy(desc.dtype))


def is_value(item: object) -> bool:
    """Return whether this is a Tensor or a Variable (a number or an array is not)."""
    return hasattr(item, "_data")


def shape_of(value: Value) -> tuple[int, ...]:
    """Return the shape, with -1 for sizes that are known only at run time."""
    try:
        shape: tuple[int, ...] = value._data.shape
    except AttributeError:
        return tuple(value.shape)
    return shape


def known_size(value: Value, axis: int, what: str) -> int:
    """Return the size of an axis for what cannot be built without it.

    Raises:
        UnknownSizeError: it is known only when the program runs.
    """
    size = shape_of(value)[axis]
    if size == -1:
        raise UnknownSizeError(
            f"{what}: the size of axis {axis % len(shape_of(value))} is unknown until the program runs, shape "
            f"{list(shape_of(value))}",
            help="declare the feed with this size",
        )
    return size


class UnknownSizeError(ShapeError, UnsupportedError):
    """A graph cannot be built without a size that is known only when it runs."""


def dtype_of(value: Value) -> np.dtype:
    """Return the numpy dtype."""
    try:
        dtype: np.dtype = value._data.dtype
    except AttributeError:
        return np.dtype(canonical_dtype(value.dtype))
    return dtype


def ndim_of(value: Value) -> int:
    """Return the number of axes."""
    return len(shape_of(value))


def desc_of(value: Value) -> TensorDesc:
    """Return the description of a value, as infer functions take it."""
    return TensorDesc(shape_of(value), dtype_of(value).name)


def normal_axis(axis: Any, ndim: int, op: str) -> int:
    """Return a non-negative axis.

    Raises:
        DtypeError: it is not an integer.
        ShapeError: it is out of range.
    """
    from_end = _integer(axis, op)
    if not -ndim <= from_end < ndim:
        raise_axis(op, from_end, ndim)
    return from_end % ndim if ndim else 0


def normal_axes(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Return non-negative axes, ascending and each once; None and () mean all.

    Raises:
        ShapeError: an axis is out of range or given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    items = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not items:
        return tuple(range(ndim))
    axes = sorted(normal_axis(item, ndim, op) for item in items)
    if len(set(axes)) != len(axes):
        raise_axis(op, items, ndim)
    return tuple(axes)


def _integer(axis: Any, op: str) -> int:
    try:
        return int(axis.__index__())
    except (AttributeError, TypeError):
        raise DtypeError(f"op {op!r}: an axis is an integer, got {axis!r}") from None


class AxisError(ShapeError, IndexError):
    """An operand has no such axis; like numpy's error of this name it is both a ValueError and an IndexError."""


def raise_axis(op: str, axis: Any, ndim: int) -> None:
    """Refuse an axis that the operand does not have."""
    raise AxisError(
        f"op {op!r}: axis {axis} does not fit a tensor of {ndim} axes (use {-ndim} to {ndim - 1}, each once)"
    )
