"""Images: pixels and channels rearranged, resized, sampled on a grid.

Windows of images as columns, masks of sequences, distances and products of pairs, further kinds of dropout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import images, losses, windows
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.ops.core.value import known_size
from opkit.paddle.nn.functional.common import dropout
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.resampling import resampling_matrix
from opkit.paddle.tensor.checks import ints, needed
from opkit.shim.missing import guard as _guard

__all__ = [
    "affine_grid",
    "bilinear",
    "dropout3d",
    "fold",
    "grid_sample",
    "interpolate",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "sequence_mask",
    "temporal_shift",
    "unfold",
    "upsample",
]


def _first(x: Any, data_format: str) -> Any:
    """Return images with the channels behind the samples."""
    if data_format not in ("NCHW", "NHWC"):
        raise UsageError(f"data_format is 'NCHW' or 'NHWC', got {data_format!r}")
    if x.ndim != 4:
        raise ShapeError(f"a tensor of 4 axes is needed, got {list(x.shape)}")
    return x if data_format == "NCHW" else ops.transpose(x, [0, 3, 1, 2])


def _given(x: Any, data_format: str) -> Any:
    return x if data_format == "NCHW" else ops.transpose(x, [0, 2, 3, 1])


# ---- rearranging -----------------------------------------------------------------------------------------------------
def pixel_shuffle(x: Any, upscale_factor: int, data_format: str = "NCHW", name: Name = None) -> Any:
    """Return images r times as high and wide, whose r * r pixels come from as many channels."""
    if not isinstance(upscale_factor, int):
        raise TypeError(f"pixel_shuffle: upscale_factor is an int, got {type(upscale_factor).__name__}")
    r, value = upscale_factor, _first(needed(x), data_format)
    channels = value.shape[1]
    if channels % (r * r):
        raise UsageError(f"pixel_shuffle: {channels} channels are not divisible by {r} * {r}")
    return _given(images.pixel_shuffle(value, r), data_format)


def pixel_unshuffle(x: Any, downscale_factor: int, data_format: str = "NCHW", name: Name = None) -> Any:
    """Return images whose height and width are divided by r, their r * r pixels in as many channels."""
    if not isinstance(downscale_factor, int):
        raise TypeError(f"pixel_unshuffle: downscale_factor is an int, got {type(downscale_factor).__name__}")
    r, value = downscale_factor, _first(needed(x), data_format)
    if r <= 0:
        raise UsageError(f"pixel_unshuffle: downscale_factor must be positive, got {r}")
    return _given(images.pixel_unshuffle(value, r), data_format)


def temporal_shift(
    x: Any, seg_num: int, shift_ratio: float = 0.25, name: Name = None, data_format: str = "NCHW"
) -> Any:
    """Return frames of which one share of the channels comes from the frame before, another from the one after."""
    value = _first(needed(x), data_format)
    return _given(images.temporal_shift(value, seg_num, shift_ratio), data_format)


# ---- resizing --------------------------------------------------------------------------------------------------------
_MODES = {"linear": 3, "bilinear": 4, "trilinear": 5, "nearest": 0, "bicubic": 4, "area": 0}


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str = "NCHW",
    name: Name = None,
) -> Any:
    """Return images resized along their spatial axes.

    Args:
        x: ``(N, C, ...)`` or ``(N, ..., C)`` with one to three spatial axes.
        size: the new sizes; or
        scale_factor: by what to multiply them.
        mode: "nearest", "linear", "bilinear", "trilinear", "bicubic" or "area".
        align_corners: the centres of the corner pixels stay where they are.
        align_mode: 0: pixels have their centres at one half; 1: at 0 (of the linear modes).
        data_format: where the channels stand.
        name: ignored.
    """
    kind = mode.lower()
    if kind not in _MODES:
        raise UsageError(f"interpolate: mode is one of {', '.join(_MODES)}, got {mode!r}")
    dims = needed(x).ndim
    if _MODES[kind] not in (0, dims) or dims not in (3, 4, 5):
        raise UsageError(f"interpolate: mode {mode!r} does not fit a tensor of shape {list(x.shape)}")
    if align_corners and kind in ("nearest", "area"):
        raise UsageError(f"interpolate: align_corners has no meaning with mode {mode!r}")
    if align_mode not in (0, 1):
        raise UsageError(f"interpolate: align_mode is 0 or 1, got {align_mode!r}")
    first = data_format.startswith("NC")
    axes = list(range(2, dims)) if first else list(range(1, dims - 1))
    for axis in axes:
        known_size(x, axis, "interpolate")
    targets, scales = _targets(x, size, scale_factor, axes)
    if kind == "area":
        return ops.adaptive_pool(x, targets, axes, ops.reduce_mean)
    rule = "linear" if kind.endswith("linear") else kind
    for axis, target, scale in zip(axes, targets, scales):
        matrix = resampling_matrix(x.shape[axis], target, scale, rule, align_corners, align_mode == 1)
        x = images.resampled(x, matrix, axis)
    return x


def _targets(x: Any, size: Any, scale_factor: Any, axes: list[int]) -> tuple[list[int], list[float]]:
    """Return the new size and the scale (0: none given) of each axis."""
    if (size is None) == (scale_factor is None):
        raise UsageError("interpolate: give size or scale_factor, and not both")
    if size is not None:
        sizes = ints(size.tolist() if hasattr(size, "tolist") else size)
        sizes = sizes * len(axes) if len(sizes) == 1 and not isinstance(size, (list, tuple)) else sizes
        if len(sizes) != len(axes):
            raise UsageError(f"interpolate: size has {len(sizes)} numbers for {len(axes)} axes")
        return sizes, [0.0] * len(axes)
    given = scale_factor.tolist() if hasattr(scale_factor, "tolist") else scale_factor
    scales = [float(item) for item in given] if isinstance(given, (list, tuple)) else [float(given)] * len(axes)
    if len(scales) != len(axes) or min(scales) <= 0:
        raise UsageError(f"interpolate: scale_factor {scale_factor!r} does not fit {len(axes)} axes")
    return [int(x.shape[axis] * scale) for axis, scale in zip(axes, scales)], scales


#: Paddle's second name for it.
upsample = interpolate


# ---- sampling on a grid ----------------------------------------------------------------------------------------------
def affine_grid(theta: Any, out_shape: Any, align_corners: bool = True, name: Name = None) -> Any:
    """Return the places that affine maps (N, 2, 3) send a regular grid to: (N, H, W, 2), both axes from -1 to 1."""
    needed(theta)
    sizes = ints(out_shape.tolist() if hasattr(out_shape, "tolist") else out_shape)
    if len(sizes) != 4:
        raise UsageError(f"affine_grid: out_shape is [N, C, H, W], got {sizes}")
    return images.affine_grid(theta, sizes[2:], align_corners=align_corners)


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: Name = None,
) -> Any:
    """Return images read at the places of a grid.

    Args:
        x: ``(N, C, H, W)``.
        grid: ``(N, h, w, 2)``: x and y of each place, the image reaching from -1 to 1.
        mode: "bilinear" or "nearest".
        padding_mode: what is beyond the image: "zeros", the "border", or its "reflection".
        align_corners: -1 and 1 are the centres of the corner pixels, not their outer edges.
        name: ignored.
    """
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise UsageError(f"grid_sample: unknown mode {mode!r} or padding_mode {padding_mode!r}")
    if needed(x).ndim != 4 or needed(grid).ndim != 4:
        raise ShapeError(f"grid_sample: opkit takes images, got {list(x.shape)} and {list(grid.shape)}")
    return images.grid_sample(x, grid, mode, padding_mode, align_corners=align_corners)


__getattr__ = _guard(globals())


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
