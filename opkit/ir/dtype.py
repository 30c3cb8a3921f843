"""Dtypes by name: numpy's, and those that exist for inference only.

No array is made or converted here.
"""

from __future__ import annotations

import numpy as np

#: Every dtype name that a TensorDesc may carry.
DTYPES: tuple[str, ...] = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "char",
    "tensor_buffer",
    "of_record",
    "invalid",
)
#: Dtypes that infer functions mention and that no array can have.
INFERENCE_ONLY = frozenset({"char", "tensor_buffer", "of_record", "invalid"})

_NUMPY: dict[str, np.dtype] = {name: np.dtype(name) for name in DTYPES if name not in INFERENCE_ONLY}
_KNOWN = frozenset(DTYPES)
#: A dtype's own ``name`` is put together anew each time that it is asked for.
_NAMES: dict[object, str] = {dtype: name for name, dtype in _NUMPY.items()}


def canonical_dtype(dtype: object) -> str:
    """Return the canonical name of a dtype given as a name, numpy dtype, scalar type or framework dtype.

    Args:
        dtype: ``"float32"``, ``np.float32``, ``np.dtype("f4")``, or an object whose ``name`` is such a name.

    Raises:
        TypeError: opkit has no such dtype.
    """
    if isinstance(dtype, str) and dtype in _KNOWN:
        return dtype
    if isinstance(dtype, np.dtype) and dtype in _NAMES:
        return _NAMES[dtype]
    name = getattr(dtype, "name", None)
    if isinstance(name, str) and name in _KNOWN:
        return name
    try:
        found = np.dtype(dtype).name  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):  # numpy evaluates parts of a text that describes a record
        found = ""
    if found not in _KNOWN:
        raise TypeError(f"not a dtype that opkit has: {dtype!r} (known: {', '.join(DTYPES)})")
    return str(found)


def to_numpy(name: str) -> np.dtype:
    """Return the numpy dtype of a canonical name.

    Raises:
        TypeError: the dtype exists for inference only.
    """
    try:
        return _NUMPY[name]
    except KeyError:
        raise TypeError(f"dtype {name!r} exists for inference only; no numpy array can have it") from None


def is_floating(name: str) -> bool:
    """Return whether a canonical dtype name is a real floating-point one."""
    return name in ("float16", "float32", "float64")


def is_integer(name: str) -> bool:
    """Return whether a canonical dtype name is a signed or unsigned integer one."""
    return name.startswith(("int", "uint"))
