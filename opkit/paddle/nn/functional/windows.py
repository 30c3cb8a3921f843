"""Windows of images as columns, masks of sequences, distances and products of pairs, further kinds of dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.mode import local
from opkit.paddle.nn.functional.common import dropout, pad
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value

__all__ = [
    "alpha_dropout",
    "bilinear",
    "dropout3d",
    "fold",
    "pairwise_distance",
    "sequence_mask",
    "unfold",
    "zeropad2d",
]


# ---- windows ---------------------------------------------------------------------------------------------------------
def _pair(name: str, item: Any) -> list[int]:
    values = ints(item)
    values = values * 2 if len(values) == 1 else values
    if len(values) != 2:
        raise UsageError(f"{name} is a number or two, got {item!r}")
    return values


def _four(item: Any) -> list[int]:
    """Return paddings as top, left, bottom, right."""
    values = ints(item)
    if len(values) not in (1, 2, 4):
        raise UsageError(f"paddings is a number, two or four, got {item!r}")
    return values * 4 if len(values) == 1 else values * 2 if len(values) == 2 else values


def _places(
    height: int, width: int, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> np.ndarray:
    """Return, for each place in the kernel and each window, the pixel of the padded image it reads."""
    lines, columns = (
        np.arange(k)[:, None] * d + np.arange(max(0, (size - d * (k - 1) - 1) // s + 1)) * s
        for size, k, s, d in zip((height, width), kernel, strides, dilations)
    )
    places = lines[:, None, :, None] * width + columns[None, :, None, :]
    found: np.ndarray = places.reshape(kernel[0] * kernel[1], -1)
    return found


def unfold(
    x: Any, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Any:
    """Return the windows of images as columns.

    Args:
        x: ``(N, C, H, W)``.
        kernel_sizes: height and width of a window.
        strides: distances between windows.
        paddings: zeros around the image: a number, (height, width), or (top, left, bottom, right).
        dilations: distances between the pixels of a window.
        name: ignored.

    Returns:
        ``(N, C * height * width, windows)``.
    """
    if need_value("unfold", "x", x).ndim != 4:
        raise ShapeError(f"unfold takes a tensor of 4 axes, got {list(x.shape)}")
    kernel, top = _pair("kernel_sizes", kernel_sizes), _four(paddings)
    wide = ops.pad(x, [0, 0, top[0], top[1]], [0, 0, top[2], top[3]])
    n, c, height, width = wide.shape
    places = _places(height, width, kernel, _pair("strides", strides), _pair("dilations", dilations))
    if not places.shape[1]:
        raise UsageError(f"unfold: windows of {kernel} do not fit images of {[height, width]}")
    columns = ops.gather(ops.reshape(wide, [n, c, height * width]), ops.literal(places), 2)
    return ops.reshape(columns, [n, c * places.shape[0], places.shape[1]])


def fold(
    x: Any,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Any:
    """Return images from their windows: the adjoint of ``unfold``, windows that overlap are added.

    Args:
        x: ``(N, C * height * width, windows)``.
        output_sizes: height and width of the images.
        kernel_sizes: as for ``unfold``.
        strides: as for ``unfold``.
        paddings: as for ``unfold``.
        dilations: as for ``unfold``.
        name: ignored.
    """
    if need_value("fold", "x", x).ndim != 3:
        raise ShapeError(f"fold takes a tensor of 3 axes, got {list(x.shape)}")
    (out_h, out_w), kernel, top = (
        _pair("output_sizes", output_sizes),
        _pair("kernel_sizes", kernel_sizes),
        _four(paddings),
    )
    height, width = out_h + top[0] + top[2], out_w + top[1] + top[3]
    places = _places(height, width, kernel, _pair("strides", strides), _pair("dilations", dilations))
    n, rows, windows = x.shape
    if windows != places.shape[1] or rows % places.shape[0]:
        raise UsageError(f"fold: {list(x.shape)} does not hold {places.shape[1]} windows of {kernel}")
    c = rows // places.shape[0]
    flat = ops.reshape(x, [n, c, places.size])
    total = ops.unsorted_segment_sum(flat, ops.literal(places.reshape(-1)), height * width, 2)
    image = ops.reshape(total, [n, c, height, width])
    return ops.slice(image, [2, 3], [top[0], top[1]], [top[0] + out_h, top[1] + out_w])


def zeropad2d(x: Any, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return images with zeros added left, right, above and below."""
    return pad(x, padding, "constant", 0.0, data_format)


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Any:
    """Return rows that are 1 up to each length and 0 behind; maxlen left out: the largest length."""
    need_value("sequence_mask", "x", x)
    if maxlen is None:
        if local.mode.is_static:
            raise UsageError("sequence_mask: maxlen must be given in a static program")
        maxlen = int(x._data.max())
    steps = ops.literal(np.arange(ints(maxlen)[0], dtype=x._data.dtype))
    return ops.cast(ops.less(steps, ops.expand_dims(x, -1)), canonical_dtype(dtype))


# ---- pairs -----------------------------------------------------------------------------------------------------------
def pairwise_distance(
    x: Any, y: Any, p: float = 2.0, epsilon: float = 1e-06, keepdim: bool = False, name: str | None = None
) -> Any:
    """Return the p-norm of ``x - y + epsilon`` along the last axis."""
    gap = ops.sub(need_value("pairwise_distance", "x", x), need_value("pairwise_distance", "y", y))
    return ops.norm(ops.add(gap, float(epsilon)) if epsilon else gap, float(p), -1, keepdim)


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None, name: str | None = None) -> Any:
    """Return ``x1 @ weight[k] @ x2`` for each k, plus a bias; the weight is (outputs, size of x1, size of x2)."""
    found = ops.einsum("bi,oij,bj->bo", [x1, weight, x2])
    return found if bias is None else ops.add(found, bias)


# ---- dropout ---------------------------------------------------------------------------------------------------------
def dropout3d(
    x: Any, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Any:
    """Return x with whole channels set to 0 with probability p while training."""
    if data_format not in ("NCDHW", "NDHWC"):
        raise UsageError(f"dropout3d: data_format is 'NCDHW' or 'NDHWC', got {data_format!r}")
    return dropout(x, p, [0, 1] if data_format == "NCDHW" else [0, 4], training)


def alpha_dropout(x: Any, p: float = 0.5, training: bool = True, name: str | None = None) -> Any:
    """Return x with elements set to SELU's lower limit, shifted and scaled so that mean and variance stay.

    Source: Klambauer et al. 2017, "Self-normalizing neural networks".
    """
    need_value("alpha_dropout", "x", x)
    if not isinstance(p, (int, float)):
        raise TypeError(f"alpha_dropout: p is a number, got {type(p).__name__}")
    if not 0 <= p <= 1:
        raise UsageError(f"alpha_dropout: p must be between 0 and 1, got {p}")
    if not training or p == 0:
        return ops.identity(x)
    if p == 1:
        return ops.mul(x, 0.0)
    limit = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
    scale = ((1 - p) * (1 + p * limit**2)) ** -0.5
    keep = ops.cast_like(ops.random_mask_like(x, float(p)), x)
    mixed = ops.add(ops.mul(x, keep), ops.mul(ops.sub(1.0, keep), limit))
    return ops.add(ops.mul(mixed, scale), -scale * limit * p)
