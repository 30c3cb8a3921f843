"""OneFlow's dtype objects: ``flow.float32``, ``flow.int64``, ... (v0.4).

Slices as OneFlow v0.4 writes them: a triple (start, stop, step) per leading axis, None where left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype, to_numpy
from opkit.ops.core.types import Ints

__all__ = [
    "DType",
    "bool",
    "char",
    "convert_oneflow_dtype_to_numpy_dtype",
    "double",
    "dtype_of",
    "dtypes",
    "float",
    "float16",
    "float32",
    "float64",
    "int32",
    "int64",
    "int8",
    "record",
    "tensor_buffer",
    "uint8",
]


class DType:
    """A dtype of OneFlow.

    Args:
        name: opkit's canonical dtype name.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"oneflow.{self.name}"

    @property
    def dtype(self) -> np.dtype:
        """Numpy's dtype; it makes this one readable to numpy."""
        return to_numpy(self.name)

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if not isinstance(other, (DType, str, np.dtype, type)) and not isinstance(getattr(other, "name", None), str):
            return NotImplemented
        try:
            return canonical_dtype(other) == self.name
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)


float16 = DType("float16")
float = float32 = DType("float32")
double = float64 = DType("float64")
int8 = DType("int8")
int32 = DType("int32")
int64 = DType("int64")
uint8 = DType("uint8")
char = DType("char")
bool = DType("bool")
record = DType("of_record")
tensor_buffer = DType("tensor_buffer")

_BY_NAME = {
    item.name: item
    for item in (float16, float32, float64, int8, int32, int64, uint8, char, bool, record, tensor_buffer)
}


def dtypes() -> list[DType]:
    """Return all dtypes."""
    return list(_BY_NAME.values())


def dtype_of(value: Any) -> DType:
    """Return OneFlow's object for a dtype given in any form (name, numpy dtype, OneFlow dtype)."""
    name = canonical_dtype(value)
    return _BY_NAME.get(name) or DType(name)


def convert_oneflow_dtype_to_numpy_dtype(oneflow_dtype: Any) -> type:
    """Return numpy's scalar type for a OneFlow dtype.

    Raises:
        TypeError: numpy has no such dtype.
    """
    kind: type = np.dtype(to_numpy(canonical_dtype(oneflow_dtype))).type
    return kind


#: What v0.4 writes for "up to the end" and, of a reversed axis, "up to the beginning".
_END, _BEGINNING = 2**63 - 1, -(2**63)


def slice_attrs(
    asked_by: str, triples: Sequence[Sequence[int | None]], shape: Ints
) -> tuple[list[int], list[int], list[int]]:
    """Return start, stop and step of every axis.

    Raises:
        UsageError: there are more triples than axes, one is no triple of ints, or a step is 0.
        ShapeError: a start is outside ``[-size, size)``, or a stop outside ``[-size - 1, size]``.

    Source: OneFlow v0.4.0, python/ops/array_ops.py, check_slice_tup_list.
    """
    if not isinstance(triples, (tuple, list)) or len(triples) > len(shape):
        raise UsageError(
            f"{asked_by} takes a triple (start, stop, step) for at most {len(shape)} axes, got {triples!r}"
        )
    starts, stops, steps = [0] * len(shape), [_END] * len(shape), [1] * len(shape)
    for axis, (triple, size) in enumerate(zip(triples, shape)):
        is_triple = isinstance(triple, (tuple, list)) and len(triple) == 3
        if not is_triple or not all(item is None or isinstance(item, int) for item in triple):
            raise UsageError(f"{asked_by}: expected a triple (start, stop, step) of ints and None, got {triple!r}")
        start, stop, step = triple[0], triple[1], 1 if triple[2] is None else triple[2]
        if step == 0:
            raise UsageError(f"{asked_by}: the step of axis {axis} is 0")
        if size >= 0 and start is not None and not -size <= start < size:
            raise ShapeError(f"{asked_by}: start {start} is outside axis {axis} of {size} elements")
        if size >= 0 and stop is not None and not -size - 1 <= stop <= size:
            raise ShapeError(f"{asked_by}: stop {stop} is outside axis {axis} of {size} elements")
        steps[axis] = step
        starts[axis] = start if start is not None else 0 if step > 0 else _END
        stops[axis] = stop if stop is not None else _END if step > 0 else _BEGINNING
    return starts, stops, steps
