"""DType: a dtype as Paddle's user sees it (``paddle.float32``); prints and compares as Paddle's does.

Everything below the facade speaks canonical names and numpy dtypes; this is only what ``x.dtype`` returns.
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
