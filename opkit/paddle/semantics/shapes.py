"""Shapes as Paddle writes them: a 0 that keeps a size, axes that are dropped where they can be.

The strict builders of the same names are in ``opkit.ops``.
"""

from __future__ import annotations

from typing import Any

from opkit import ops
from opkit.ops.basis.creation import to_shape
from opkit.ops.core.value import normal_axis, shape_of


def reshape(x: Any, shape: Any) -> Any:
    """Return ``x`` in another shape; one size may be -1, and 0 keeps the size of that axis.

    Of a tensor without elements a 0 is a size, as it is in the tensor's own shape.

    Raises:
        ShapeError: the elements do not fill the shape, or a 0 stands where ``x`` has no axis.

    Source: Paddle 2.6, paddle.reshape.
    """
    if isinstance(shape, (list, tuple)) and 0 not in shape:
        return ops.reshape(x, shape)
    sizes = to_shape(shape)
    if 0 not in sizes or 0 in shape_of(x):
        return ops.reshape(x, sizes)
    return ops.reshape(x, sizes, [i for i, size in enumerate(sizes) if size == 0])


def squeeze(x: Any, axis: Any = None) -> Any:
    """Return ``x`` without axes of size 1; a named axis of another size stays.

    Source: Paddle 2.6, paddle.squeeze.
    """
    if axis is None:
        return ops.squeeze(x)
    shape = shape_of(x)
    named = axis if isinstance(axis, (tuple, list)) else (axis,)
    dropped = tuple(i for i in named if shape[normal_axis(i, len(shape), "squeeze")] in (1, -1))
    return ops.squeeze(x, dropped) if dropped else ops.identity(x)
