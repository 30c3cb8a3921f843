"""Windows of images as columns, and images from such columns: each is the other's adjoint."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value


def _places(height: int, width: int, kernel: Ints, strides: Ints, dilations: Ints) -> ndarray:
    """Return, for each place in the kernel and each window, the pixel of the padded image it reads."""
    lines, columns = (
        np.arange(k)[:, None] * d + np.arange(max(0, (size - d * (k - 1) - 1) // s + 1)) * s
        for size, k, s, d in zip((height, width), kernel, strides, dilations)
    )
    places = lines[:, None, :, None] * width + columns[None, :, None, :]
    found: ndarray = places.reshape(kernel[0] * kernel[1], -1)
    return found


def columns_of(x: Value, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints) -> Value:
    """Return the windows of images as columns, ``(N, C * height * width, windows)``.

    Args:
        x: ``(N, C, H, W)``.
        kernel: height and width of a window.
        strides: distances between windows.
        pads: rows and columns of zeros: top, left, bottom, right.
        dilations: distances between the pixels of a window.

    Raises:
        UsageError: no window fits.
    """
    wide = ops.pad(x, [0, 0, pads[0], pads[1]], [0, 0, pads[2], pads[3]])
    n, c, height, width = wide.shape
    places = _places(height, width, kernel, strides, dilations)
    if not places.shape[1]:
        raise UsageError(f"unfold: windows of {kernel} do not fit images of {[height, width]}")
    columns = ops.gather(ops.reshape(wide, [n, c, height * width]), ops.literal(places), 2)
    return ops.reshape(columns, [n, c * places.shape[0], places.shape[1]])


def image_of(x: Value, size: Ints, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints) -> Value:
    """Return images of a height and width from their windows; windows that overlap are added.

    The other arguments are those of ``columns_of``.

    Raises:
        UsageError: ``x`` does not hold such windows.
    """
    height, width = size[0] + pads[0] + pads[2], size[1] + pads[1] + pads[3]
    places = _places(height, width, kernel, strides, dilations)
    n, rows, windows = x.shape
    if windows != places.shape[1] or rows % places.shape[0]:
        raise UsageError(f"fold: {list(x.shape)} does not hold {places.shape[1]} windows of {kernel}")
    c = rows // places.shape[0]
    flat = ops.reshape(x, [n, c, places.size])
    total = ops.unsorted_segment_sum(flat, ops.literal(places.reshape(-1)), height * width, 2)
    image = ops.reshape(total, [n, c, height, width])
    return ops.slice(image, [2, 3], [pads[0], pads[1]], [pads[0] + size[0], pads[1] + size[1]])
