"""Extents: the size of one axis of a computed value, by the sizes of what it is computed from.

Only what holds for every rank stands here; sizes that depend on more stay unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.trace.graph import Node, Scalar

_SAME_SHAPE = {"sort", "argsort", "cumsum", "cumprod", "flip", "roll", "copy", "astype", "put_along_axis", "setitem"}
_SAME_SHAPE |= {"zeros_like", "ones_like", "empty_like", "full_like", "tril", "triu", "add.at", "subtract.at"}


def extent(node: Node, axis: Any) -> Scalar | None:
    """Return the size of an axis as that of another value or as what made it; None where that is not known.

    Args:
        node: a computed value.
        axis: a plain int, or a scalar that is known only at the call.
    """
    if not isinstance(axis, int) or not node.args:
        return None
    first, name = node.args[0], node.function
    if name in _SAME_SHAPE and isinstance(first, Node):
        return _size(first, axis)
    if name == "transpose" and isinstance(first, Node):
        axes = node.args[1] if len(node.args) > 1 else node.kwargs.get("axes")
        if axes is None:
            return _size(first, -1 - axis)
        is_plain = isinstance(axes, (tuple, list)) and all(isinstance(item, int) for item in axes)
        return _size(first, axes[axis]) if is_plain else None
    if name == "stack" and isinstance(first, (tuple, list)) and node.kwargs.get("axis", 0) == 0 and axis >= 0:
        if axis == 0:
            return Scalar("const", (len(first),), len(first))
        return _size(first[0], axis - 1) if isinstance(first[0], Node) else None
    shape = node.args[1] if name in ("broadcast_to", "reshape") and len(node.args) > 1 else None
    if name in ("zeros", "ones", "empty", "full"):
        shape = first
    return _of_shape(shape, axis)


def _of_shape(shape: Any, axis: int) -> Scalar | None:
    """Return an entry of a shape that is written out, None of -1 and of another shape."""
    if not isinstance(shape, (tuple, list)) or not -len(shape) <= axis < len(shape):
        return None
    item = shape[axis]
    if isinstance(item, Scalar):
        return item
    return Scalar("const", (item,), item) if isinstance(item, int) and item >= 0 else None


def _size(node: Node, axis: int) -> Scalar:
    return Scalar("size", (node, axis), np.shape(node.value)[axis])
