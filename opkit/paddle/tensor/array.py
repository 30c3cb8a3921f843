"""Tensor arrays, which are lists of Tensors in dynamic mode; graphs have none here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.eager import Tensor, wrap
from opkit.errors import UnsupportedError, UsageError
from opkit.ops.core.mode import local
from opkit.shim.missing import guard

__all__ = ["array_length", "array_read", "array_write", "create_array"]


class ArrayError(UsageError, AssertionError, TypeError):
    """What is to be a tensor array or a place in one is not (Paddle raises AssertionError or TypeError)."""


def _checked(name: str, array: Any) -> list[Any]:
    if local.mode.is_static:
        raise UnsupportedError(
            f"{name}: opkit's graphs have no tensor arrays", help="a Python list of Variables, or paddle.stack of them"
        )
    if not isinstance(array, list):
        raise ArrayError(f"{name}: in dynamic mode a tensor array is a list, got {type(array).__name__}")
    return array


def _place(name: str, i: Any) -> int:
    if not isinstance(i, Tensor) or i.size != 1 or i._data.dtype.kind != "i":
        raise ArrayError(f"{name}: i is an integer Tensor of one element, got {i!r}")
    return int(i._data.reshape(()))


def create_array(dtype: Any, initialized_list: Sequence[Any] | None = None) -> list[Any]:
    """Return a tensor array.

    Args:
        dtype: of its Tensors, accepted without effect.
        initialized_list: Tensors to begin with.
    """
    items = _checked("create_array", [] if initialized_list is None else list(initialized_list))
    for item in items:
        if not isinstance(item, Tensor):
            raise ArrayError(f"create_array: initialized_list holds Tensors, got {type(item).__name__}")
    return items


def array_write(x: Any, i: Any, array: Any = None) -> list[Any]:
    """Put a Tensor at a place of an array, or behind its last; return the array, a new one where none is given."""
    items = _checked("array_write", create_array(None) if array is None else array)
    place = _place("array_write", i)
    if not 0 <= place <= len(items):
        raise ArrayError(f"array_write: i is between 0 and {len(items)}, the length of the array, got {place}")
    if place == len(items):
        items.append(x)
    else:
        items[place] = x
    return items


def array_read(array: Any, i: Any) -> Any:
    """Return the Tensor at a place of an array."""
    return _checked("array_read", array)[_place("array_read", i)]


def array_length(array: Any) -> Any:
    """Return how many Tensors an array holds, as an int64 Tensor of shape []."""
    return wrap(np.array(len(_checked("array_length", array)), np.int64))


__getattr__ = guard(globals())
