"""VarType: what Paddle's core calls the kinds of variables and the dtypes, in one enumeration.

Dtypes are ``opkit.paddle.semantics.dtypes``'; here they only get the core's names.
"""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics.dtypes import BFLOAT16, DType, dtype_object


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
