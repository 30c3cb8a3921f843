"""What a tensor is: its kind of numbers, whether it holds any, and the limits of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import DtypeError
from opkit.ir import canonical_dtype
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import needed
from opkit.shim.missing import guard as _guard

__all__ = ["finfo", "iinfo", "is_complex", "is_empty", "is_floating_point", "is_integer"]


def _kind(function: str, x: Any) -> str:
    if not hasattr(x, "_data"):
        raise TypeError(f"{function} takes a Tensor, got {type(x).__name__}")
    return str(x._data.dtype.kind)


def is_complex(x: Any) -> bool:
    """Return whether the dtype is a complex one."""
    return _kind("is_complex", x) == "c"


def is_integer(x: Any) -> bool:
    """Return whether the dtype is one of integers; bool is not one."""
    return _kind("is_integer", x) in "iu"


def is_floating_point(x: Any) -> bool:
    """Return whether the dtype is a floating-point one."""
    return _kind("is_floating_point", x) == "f"


def is_empty(x: Any, name: Name = None) -> Any:
    """Say, as a tensor, whether there is no element."""
    return ops.constant(0 in needed(x).shape, (), "bool")


class finfo:
    """The limits of a floating-point dtype.

    Args:
        dtype: a floating-point or complex dtype.
    """

    def __init__(self, dtype: Any) -> None:
        try:
            held = np.finfo(canonical_dtype(dtype))
        except ValueError as error:
            raise DtypeError(f"finfo: {error}") from None
        self.dtype = held.dtype.name
        self.bits = held.bits
        self.min, self.max = float(held.min), float(held.max)
        self.eps, self.resolution = float(held.eps), float(held.resolution)
        self.tiny = self.smallest_normal = float(held.smallest_normal)

    def __repr__(self) -> str:
        fields = ("min", "max", "eps", "resolution", "smallest_normal", "tiny", "bits", "dtype")
        return f"paddle.finfo({', '.join(f'{name}={getattr(self, name)}' for name in fields)})"


class iinfo:
    """The limits of an integer dtype.

    Args:
        dtype: an integer dtype.
    """

    def __init__(self, dtype: Any) -> None:
        try:
            held = np.iinfo(canonical_dtype(dtype))
        except ValueError as error:
            raise DtypeError(f"iinfo: {error}") from None
        self.dtype, self.bits = held.dtype.name, held.bits
        self.min, self.max = int(held.min), int(held.max)

    def __repr__(self) -> str:
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"


__getattr__ = _guard(globals())
