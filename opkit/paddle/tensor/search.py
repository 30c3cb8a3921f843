"""Positions: arg max, sorting, nonzero elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import UnsupportedError
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, needed
from opkit.shim.missing import guard as _guard

__all__ = ["argmax", "argmin", "argsort", "nonzero", "sort", "topk", "unique"]


def argmax(x: Any, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Name = None) -> Any:
    """Return the position of the largest element along an axis, or in the flattened tensor."""
    return ops.argmax(needed(x), axis, keepdim, dtype)


def argmin(x: Any, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Name = None) -> Any:
    """Return the position of the smallest element along an axis, or in the flattened tensor."""
    return ops.argmin(needed(x), axis, keepdim, dtype)


def argsort(x: Any, axis: int = -1, descending: bool = False, name: Name = None) -> Any:
    """Return the positions that sort x along an axis."""
    if not needed(x).ndim and axis in (0, -1):
        return ops.cast(ops.zeros_like(x), "int64")
    return ops.argsort(x, axis, descending)


def sort(x: Any, axis: int = -1, descending: bool = False, name: Name = None) -> Any:
    """Return x sorted along an axis."""
    if not needed(x).ndim and axis in (0, -1):
        return ops.identity(x)
    return ops.sort(x, axis, descending)


def topk(x: Any, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: Name = None) -> Any:
    """Return the k largest (or smallest) elements along an axis, and their positions."""
    return ops.selected(needed(x), ints(k)[0], -1 if axis is None else axis, largest)


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """Return the coordinates of the elements that are not zero: (n, axes), or one (n, 1) tensor per axis."""
    dynamic_only("nonzero")
    places = np.argwhere(needed(x)._data).astype(np.int64)
    if as_tuple:
        return tuple(ops.literal(places[:, i : i + 1]) for i in range(places.shape[1]))
    return ops.literal(places)


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: Name = None,
) -> Any:
    """Return the distinct elements, sorted; on request also their places, the inverse and the counts."""
    dynamic_only("unique")
    distinct: Any = np.unique  # its overloads know literal flags only
    found = distinct(
        needed(x)._data,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
    )
    if not isinstance(found, tuple):
        return ops.literal(found)
    kind = np.dtype(str(dtype).removeprefix("paddle."))
    return (ops.literal(found[0]), *[ops.literal(item.astype(kind)) for item in found[1:]])


def dynamic_only(name: str) -> None:
    """Refuse to build a graph whose sizes depend on the data."""
    if local.mode.is_static:
        raise UnsupportedError(f"{name}: the size of its result is unknown in a static program")


__getattr__ = _guard(globals())
