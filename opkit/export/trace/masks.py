"""Masks as indices: what a kernel selects with a mask stays as large as its source, and the mask is applied on writing.

So ``y[y < 0] *= 0.1`` is a choice by ``where``. What needs the number of selected elements as a size is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from opkit.export.trace.graph import Node, UntraceableError
from opkit.export.trace.recorder import current
from opkit.export.trace.symbols import Symbol

_SIZE = "selects with a mask, so that its result's size depends on values"


def mask_of(place: Any) -> Node | None:
    """Return the mask that an index is, None where it is none.

    Raises:
        UntraceableError: it mixes a mask with other indices.
    """
    parts = place if isinstance(place, tuple) else (place,)
    masks = [part for part in parts if _is_mask(part)]
    if not masks:
        return None
    is_first = _is_mask(parts[0]) and isinstance(parts[0], Node)
    if not is_first or any(part is not Ellipsis and part != slice(None) for part in parts[1:]):
        raise UntraceableError(_SIZE)
    return parts[0] if isinstance(parts[0], Node) else None


def _is_mask(part: Any) -> bool:
    if isinstance(part, Node):
        return part.dtype == bool
    return isinstance(part, np.ndarray) and part.dtype == bool


def spread(mask: Any, node: Node) -> Any:
    """Return a mask over the first axes of an array as one that broadcasts with it."""
    more = np.ndim(node.value) - np.ndim(mask.node.value)
    return mask[(Ellipsis,) + (None,) * more] if more else mask


def chosen_by(target: Any, mask: Any, value: Any) -> Any:
    """Return what is written where a mask says, as large as the target or broadcasting with it.

    Raises:
        UntraceableError: it is one value per selected element, and not selected with the same mask.
    """
    if isinstance(value, Selected):
        if value.mask.node is not mask.node:
            raise UntraceableError("writes what one mask selects where another one says")
        return value.full
    node = getattr(value, "node", None)
    free = np.ndim(target.node.value) - np.ndim(mask.node.value)
    if np.ndim(value if node is None else node.value) > free:
        raise UntraceableError(_SIZE)
    return value


class Selected(NDArrayOperatorsMixin):
    """What a mask selects of an array.

    Args:
        full: the array.
        mask: the mask, over its first axes.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 2000

    def __init__(self, full: Any, mask: Any) -> None:
        self.full = full
        self.mask = mask
        self.line = current().line()

    def all(self) -> Any:
        """Refuse: what is selected has no known size outside of writes by the same mask."""
        raise UntraceableError(_SIZE, self.line)

    def _of(self, item: Any) -> Any:
        if isinstance(item, Selected):
            if item.mask.node is not self.mask.node:
                raise UntraceableError("computes with what two masks select")
            return item.full
        node = getattr(item, "node", None)
        if not isinstance(item, (int, float, bool, Symbol, np.generic)) and (node is None or np.ndim(node.value)):
            raise UntraceableError(_SIZE)
        return item

    @property
    def value(self) -> Any:
        """The selected values of the example."""
        return np.asarray(self.full.node.value)[np.asarray(self.mask.node.value)]

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            raise UntraceableError(_SIZE)
        full = function(*[self._of(item) for item in args])
        if out is None:
            return Selected(full, self.mask)
        if out[0] is not self:
            raise UntraceableError(_SIZE)
        self.full = full.astype(self.full.dtype)
        return self

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in ("sum", "mean") and args[0] is self and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)()
        raise UntraceableError(_SIZE)

    def _spread(self) -> Any:
        return spread(self.mask, self.full.node)

    def sum(self) -> Any:
        """As numpy's, over all that is selected."""
        return np.where(self._spread(), self.full, 0).sum()

    def mean(self) -> Any:
        """As numpy's, over all that is selected."""
        return self.sum() / np.broadcast_to(self._spread(), self.full.shape).sum()

    def astype(self, dtype: Any) -> Selected:
        """As numpy's."""
        return Selected(self.full.astype(dtype), self.mask)

    def copy(self) -> Selected:
        """As numpy's."""
        return Selected(self.full.copy(), self.mask)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise UntraceableError(_SIZE)
