"""DType: a dtype as Paddle's user sees it (``paddle.float32``); prints and compares as Paddle's does.

Everything below the facade speaks canonical names and numpy dtypes; this is only what ``x.dtype`` returns.

VarType: what Paddle's core calls the kinds of variables and the dtypes, in one enumeration.

Dtypes are ``opkit.paddle.semantics.dtypes``'; here they only get the core's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.ir.dtype import DTYPES, INFERENCE_ONLY, canonical_dtype, to_numpy


class DType:
    """One dtype; there is one object per dtype, so that ``is`` works too.

    Args:
        name: canonical name.

    ``name`` makes it readable to ``canonical_dtype`` and ``dtype`` to numpy (``np.zeros(3, paddle.float32)``).
    """

    __slots__ = ("dtype", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = to_numpy(name)

    def __repr__(self) -> str:
        return f"paddle.{self.name}"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, (str, np.dtype, type)):
            try:
                return canonical_dtype(other) == self.name
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return dtype_object, (self.name,)


def _without_arrays(name: str) -> DType:
    """Return a dtype that can be named and compared, but of which numpy has no arrays."""
    made = DType.__new__(DType)
    made.name = name
    return made


BFLOAT16 = _without_arrays("bfloat16")


class _Table(dict[Any, DType]):
    """Dtypes by name and by numpy dtype; other forms are brought to one of these."""

    def __missing__(self, key: Any) -> DType:
        return self[to_numpy(canonical_dtype(key))]


_ALL = _Table()
for _name in DTYPES:
    if _name not in INFERENCE_ONLY:
        _ALL[_name] = _ALL[to_numpy(_name)] = DType(_name)

#: The object for a numpy dtype; what ``x.dtype`` asks.
shown: Callable[[np.dtype], DType] = _ALL.__getitem__


def dtype_object(dtype: Any) -> DType:
    """Return the object for a dtype given in any form.

    Raises:
        TypeError: it names no dtype that an array can have.

    Example:
        >>> dtype_object("float32")
        paddle.float32
    """
    return _ALL[dtype if isinstance(dtype, (str, np.dtype)) else to_numpy(canonical_dtype(dtype))]


class _Kind(int):
    """One kind of variable: a number with a name."""

    name: str

    def __new__(cls, name: str, number: int) -> _Kind:
        """Return the kind."""
        made = super().__new__(cls, number)
        made.name = name
        return made

    @property
    def value(self) -> int:
        """Its number."""
        return int(self)

    def __str__(self) -> str:
        return f"VarType.{self.name}"

    def __repr__(self) -> str:
        return f"<VarType.{self.name}: {int(self)}>"

    def __reduce__(self) -> Any:
        return _Kind, (self.name, int(self))


class _Members(type):
    """Counts kinds of variables and dtypes as instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_Kind, DType))


_KINDS = {
    "LOD_TENSOR": 7, "SELECTED_ROWS": 8, "FEED_MINIBATCH": 9, "FETCH_LIST": 10, "STEP_SCOPES": 11,
    "LOD_RANK_TABLE": 12, "LOD_TENSOR_ARRAY": 13, "PLACE_LIST": 14, "READER": 15, "RAW": 17, "STRING": 25,
    "STRINGS": 26, "VOCAB": 27, "SPARSE_COO": 30,
}  # fmt: skip
_DTYPES = {
    "BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
    "FP16": "float16", "FP32": "float32", "FP64": "float64", "COMPLEX64": "complex64", "COMPLEX128": "complex128",
}  # fmt: skip


class VarType(metaclass=_Members):
    """Kinds of variables (``VarType.LOD_TENSOR``) and dtypes (``VarType.FP32``, which is ``paddle.float32``)."""

    BF16 = BFLOAT16


for _name, _number in _KINDS.items():
    setattr(VarType, _name, _Kind(_name, _number))
for _name, _dtype in _DTYPES.items():
    setattr(VarType, _name, dtype_object(_dtype))


class VarDesc:
    """What Paddle's core knows of a variable: its types are in ``VarDesc.VarType``."""

    VarType = VarType


#: The kind of every tensor that opkit has.
LOD_TENSOR: _Kind = VarType.LOD_TENSOR  # type: ignore[attr-defined]
