"""OneFlow's builders that put something around images: constants, the edge, the reflection (v0.4 names)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import dtype_of, shape_of

Blob = Any
Padding = int | Ints


def constant_pad2d(x: Blob, padding: Padding, constant_value: float = 0, name: Name = None) -> Blob:
    """Put a number around images (batch, channels, height, width).

    Args:
        x: the images.
        padding: how many elements on each side: one number, or (left, right, top, bottom); less than the image has.
        constant_value: the number.

    Raises:
        UsageError: the padding is neither one number nor four.
        ShapeError: there are not four axes, or a side is not shorter than the image.
    """
    return _pad2d("constant_pad2d", x, padding, constant_value)


def zero_pad2d(x: Blob, padding: Padding, name: Name = None) -> Blob:
    """Put zeros around images; see ``constant_pad2d``."""
    return _pad2d("constant_pad2d", x, padding, 0)


def reflection_pad2d(x: Blob, padding: Padding, name: Name = None) -> Blob:
    """Continue images by their reflection, without the edge itself; see ``constant_pad2d``."""
    return _pad2d("reflection_pad2d", x, padding, 0)


def replication_pad2d(x: Blob, padding: Padding, name: Name = None) -> Blob:
    """Continue images by their edge; see ``constant_pad2d``."""
    return _pad2d("replication_pad2d", x, padding, 0)


def _pad2d(op: str, x: Blob, padding: Padding, number: float) -> Blob:
    value = as_value(x)
    sizes = shape_of(value)
    sides = [padding] * 4 if isinstance(padding, int) else padding
    if not isinstance(sides, (tuple, list)) or len(sides) != 4:
        raise UsageError(f"flow.{op}: padding is one number or four (left, right, top, bottom), got {padding!r}")
    if len(sizes) != 4:
        raise ShapeError(f"flow.{op} takes (batch, channels, height, width), got shape {sizes}")
    if max(sides[:2]) >= sizes[3] or max(sides[2:]) >= sizes[2]:
        raise ShapeError(f"flow.{op}: the padding {list(sides)} is not less than the images of shape {sizes}")
    is_floating = dtype_of(value).kind == "f"
    return call(
        op,
        value,
        padding=[int(side) for side in sides],
        floating_value=float(number) if is_floating else 0.0,
        integral_value=0 if is_floating else int(number),
    )


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
