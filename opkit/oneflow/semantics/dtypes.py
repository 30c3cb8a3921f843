"""OneFlow's dtype objects: ``flow.float32``, ``flow.int64``, ... (v0.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ir import canonical_dtype, to_numpy

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
