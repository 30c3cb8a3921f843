"""OneFlow's builders that put something around images: their reflection (v0.4 names)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import shape_of

Blob = Any


def reflection_pad2d(x: Blob, padding: int | Ints, name: Name = None) -> Blob:
    """Continue images (batch, channels, height, width) by their reflection, without the edge itself.

    Args:
        x: the images.
        padding: how many elements on each side: one number, or (left, right, top, bottom); less than the image has.

    Raises:
        UsageError: the padding is neither one number nor four.
        ShapeError: there are not four axes, or a side is not shorter than the image.
    """
    value = as_value(x)
    sizes = shape_of(value)
    sides = [padding] * 4 if isinstance(padding, int) else padding
    if not isinstance(sides, (tuple, list)) or len(sides) != 4:
        raise UsageError(
            f"flow.reflection_pad2d: padding is one number or four (left, right, top, bottom), got {padding!r}"
        )
    if len(sizes) != 4:
        raise ShapeError(f"flow.reflection_pad2d takes (batch, channels, height, width), got shape {sizes}")
    if max(sides[:2]) >= sizes[3] or max(sides[2:]) >= sizes[2]:
        raise ShapeError(
            f"flow.reflection_pad2d: the padding {list(sides)} is not less than the images of shape {sizes}"
        )
    left, right, top, bottom = map(int, sides)
    return ops.pad(value, (0, 0, top, left), (0, 0, bottom, right), mode="reflect")


def pad_grad(x: Blob, paddings: Sequence[Ints], constant_value: float = 0, name: Name = None) -> Blob:
    """Take away ``paddings[i] = (before, after)`` elements of axis i: the gradient of ``flow.pad``."""
    return call(
        "pad_grad",
        x,
        padding_before=[int(item[0]) for item in paddings],
        padding_after=[int(item[1]) for item in paddings],
        floating_constant_value=float(constant_value),
        integral_constant_value=int(constant_value),
    )
