"""Windows of images as columns, masks of sequences, distances and products of pairs, further kinds of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import losses, windows
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.paddle.nn.functional.common import dropout
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, needed

__all__ = ["bilinear", "dropout3d", "fold", "pairwise_distance", "sequence_mask", "unfold"]


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


def unfold(
    x: Any, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: Name = None
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
    if needed(x).ndim != 4:
        raise ShapeError(f"unfold takes a tensor of 4 axes, got {list(x.shape)}")
    kernel, pads = _pair("kernel_sizes", kernel_sizes), _four(paddings)
    return windows.columns_of(x, kernel, _pair("strides", strides), pads, _pair("dilations", dilations))


def fold(
    x: Any,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: Name = None,
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
    if needed(x).ndim != 3:
        raise ShapeError(f"fold takes a tensor of 3 axes, got {list(x.shape)}")
    size, kernel = _pair("output_sizes", output_sizes), _pair("kernel_sizes", kernel_sizes)
    steps, spaces = _pair("strides", strides), _pair("dilations", dilations)
    return windows.image_of(x, size, kernel, steps, _four(paddings), spaces)


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: Name = None) -> Any:
    """Return rows that are 1 up to each length and 0 behind; maxlen left out: the largest length."""
    needed(x)
    if maxlen is None:
        if local.mode.is_static:
            raise UsageError("sequence_mask: maxlen must be given in a static program")
        maxlen = int(x._data.max())
    steps = ops.literal(np.arange(ints(maxlen)[0], dtype=x._data.dtype))
    return ops.cast(ops.less(steps, ops.expand_dims(x, -1)), canonical_dtype(dtype))


# ---- pairs -----------------------------------------------------------------------------------------------------------
def pairwise_distance(
    x: Any, y: Any, p: float = 2.0, epsilon: float = 1e-06, keepdim: bool = False, name: Name = None
) -> Any:
    """Return the p-norm of ``x - y + epsilon`` along the last axis."""
    x, y = needed(x), needed(y)
    return losses.pair_distance(x, y, p, epsilon, keepdims=keepdim)


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None, name: Name = None) -> Any:
    """Return ``x1 @ weight[k] @ x2`` for each k, plus a bias; the weight is (outputs, size of x1, size of x2)."""
    found = ops.einsum("bi,oij,bj->bo", [x1, weight, x2])
    return found if bias is None else ops.add(found, bias)


# ---- dropout ---------------------------------------------------------------------------------------------------------
def dropout3d(x: Any, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: Name = None) -> Any:
    """Return x with whole channels set to 0 with probability p while training."""
    if data_format not in ("NCDHW", "NDHWC"):
        raise UsageError(f"dropout3d: data_format is 'NCDHW' or 'NDHWC', got {data_format!r}")
    return dropout(x, p, [0, 1] if data_format == "NCDHW" else [0, 4], training)
