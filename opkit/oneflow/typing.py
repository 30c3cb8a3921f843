"""Type hints of jobs: a job's arguments and results (``oneflow.typing``, v0.4)."""

from __future__ import annotations

import typing
from typing import Any

from opkit.errors import UsageError
from opkit.ir import Shape, TensorDesc, canonical_dtype
from opkit.oneflow.scalar_types import float32
from opkit.ops.core.types import Ints, Name
from opkit.shim.missing import guard

__all__ = [
    "Bundle",
    "Callback",
    "FixedTensorDef",
    "ListNumpy",
    "ListOfNumpyDef",
    "Numpy",
    "NumpyDef",
]

_T = typing.TypeVar("_T")


class OneflowNumpyDef:
    """Base of the placeholders that ``Numpy.Placeholder`` and ``ListNumpy.Placeholder`` make."""

    shape: Shape
    dtype: Any

    @classmethod
    def desc(cls) -> TensorDesc:
        """Return the declared shape and dtype."""
        return TensorDesc(cls.shape, canonical_dtype(cls.dtype))


class NumpyDef(OneflowNumpyDef):
    """An array of exactly this shape and dtype."""


class ListOfNumpyDef(OneflowNumpyDef):
    """A list with one array, whose sizes may be smaller than declared."""


class Numpy:
    """A job with this annotation returns a ``numpy.ndarray``."""

    @staticmethod
    def Placeholder(shape: Ints, dtype: Any = float32) -> type[NumpyDef]:
        """Declare an argument: an array of this shape and dtype.

        Args:
            shape: a tuple of positive ints.
            dtype: a OneFlow dtype.

        Raises:
            UsageError: the shape is not a tuple of positive ints, or an array cannot have the dtype.
        """
        return type("Numpy.Placeholder", (NumpyDef,), _checked(shape, dtype))


class ListNumpy:
    """A job with this annotation returns a list of arrays, one per device (here one)."""

    @staticmethod
    def Placeholder(shape: Ints, dtype: Any = float32) -> type[ListOfNumpyDef]:
        """Declare an argument: a list with one array of this rank, no size larger than declared."""
        return type("ListNumpy.Placeholder", (ListOfNumpyDef,), _checked(shape, dtype))


def FixedTensorDef(shape: Ints, dtype: Any = float32, name: Name = None) -> type[NumpyDef]:
    """Declare an argument as older scripts do, as its default: ``def job(x=flow.FixedTensorDef((2, 3)))``."""
    return Numpy.Placeholder(tuple(shape), dtype)


class Callback(typing.Generic[_T]):
    """A job annotated with ``Callback[T]`` returns a function that takes a callback of one T."""


class Bundle(typing.Generic[_T]):
    """One value or any nesting of lists, tuples and dicts of values."""


def _checked(shape: Ints, dtype: Any) -> dict[str, Any]:
    if not isinstance(shape, tuple):
        raise UsageError(f"a Placeholder's shape is a tuple of ints, got {type(shape).__name__} {shape!r}")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
            raise UsageError(f"a Placeholder's sizes are positive ints, got {size!r} in {shape!r}")
    canonical_dtype(dtype)
    return {"shape": shape, "dtype": dtype}


__getattr__ = guard("flow.typing", __all__)
