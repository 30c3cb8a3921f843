"""Images: pixels and channels rearranged, resized, sampled on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, need_value

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "temporal_shift",
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
def pixel_shuffle(x: Any, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return images r times as high and wide, whose r * r pixels come from as many channels."""
    if not isinstance(upscale_factor, int):
        raise TypeError(f"pixel_shuffle: upscale_factor is an int, got {type(upscale_factor).__name__}")
    r, value = upscale_factor, _first(need_value("pixel_shuffle", "x", x), data_format)
    n, c, h, w = value.shape
    if c % (r * r):
        raise UsageError(f"pixel_shuffle: {c} channels are not divisible by {r} * {r}")
    parts = ops.transpose(ops.reshape(value, [n, c // (r * r), r, r, h, w]), [0, 1, 4, 2, 5, 3])
    return _given(ops.reshape(parts, [n, c // (r * r), h * r, w * r]), data_format)


def pixel_unshuffle(x: Any, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return images whose height and width are divided by r, their r * r pixels in as many channels."""
    if not isinstance(downscale_factor, int):
        raise TypeError(f"pixel_unshuffle: downscale_factor is an int, got {type(downscale_factor).__name__}")
    r, value = downscale_factor, _first(need_value("pixel_unshuffle", "x", x), data_format)
    if r <= 0:
        raise UsageError(f"pixel_unshuffle: downscale_factor must be positive, got {r}")
    n, c, h, w = value.shape
    parts = ops.transpose(ops.reshape(value, [n, c, h // r, r, w // r, r]), [0, 1, 3, 5, 2, 4])
    return _given(ops.reshape(parts, [n, c * r * r, h // r, w // r]), data_format)


def channel_shuffle(x: Any, groups: int, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return images with the channels of all groups taken in turn."""
    if not isinstance(groups, int):
        raise TypeError(f"channel_shuffle: groups is an int, got {type(groups).__name__}")
    if groups <= 0:
        raise UsageError(f"channel_shuffle: groups must be positive, got {groups}")
    value = _first(need_value("channel_shuffle", "x", x), data_format)
    n, c, h, w = value.shape
    parts = ops.swapaxes(ops.reshape(value, [n, groups, c // groups, h, w]), 1, 2)
    return _given(ops.reshape(parts, [n, c, h, w]), data_format)


def temporal_shift(
    x: Any, seg_num: int, shift_ratio: float = 0.25, name: str | None = None, data_format: str = "NCHW"
) -> Any:
    """Return frames of which one share of the channels comes from the frame before, another from the one after."""
    value = _first(need_value("temporal_shift", "x", x), data_format)
    nt, c, h, w = value.shape
    frames = ops.reshape(value, [nt // seg_num, seg_num, c, h, w])
    first, second = int(c * shift_ratio), int(c * 2 * shift_ratio)
    before = ops.pad(ops.slice(frames, [1, 2], [0, 0], [seg_num - 1, first]), [0, 1, 0, 0, 0], [0] * 5)
    after = ops.pad(ops.slice(frames, [1, 2], [1, first], [seg_num, second]), [0] * 5, [0, 1, 0, 0, 0])
    joined = ops.concat([before, after, ops.slice(frames, [2], [second], [c])], 2)
    return _given(ops.reshape(joined, [nt, c, h, w]), data_format)


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
    name: str | None = None,
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
    dims = need_value("interpolate", "x", x).ndim
    if _MODES[kind] not in (0, dims) or dims not in (3, 4, 5):
        raise UsageError(f"interpolate: mode {mode!r} does not fit a tensor of shape {list(x.shape)}")
    if align_corners and kind in ("nearest", "area"):
        raise UsageError(f"interpolate: align_corners has no meaning with mode {mode!r}")
    if align_mode not in (0, 1):
        raise UsageError(f"interpolate: align_mode is 0 or 1, got {align_mode!r}")
    first = data_format.startswith("NC")
    axes = list(range(2, dims)) if first else list(range(1, dims - 1))
    targets, scales = _targets(x, size, scale_factor, axes)
    if kind == "area":
        return ops.adaptive_pool(x, targets, axes, ops.reduce_mean)
    rule = "linear" if kind.endswith("linear") else kind
    for axis, target, scale in zip(axes, targets, scales):
        matrix = ops.resampling_matrix(x.shape[axis], target, scale, rule, align_corners, align_mode == 1)
        x = _along(x, matrix, axis)
    return x


def _along(x: Any, matrix: np.ndarray, axis: int) -> Any:
    """Return x with an axis multiplied by a matrix."""
    weights = ops.literal(matrix.astype(x._data.dtype))
    return ops.swapaxes(ops.matmul(ops.swapaxes(x, axis, -1), weights, False, True), axis, -1)


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


#: Paddle's second name of it.
upsample = interpolate


# ---- sampling on a grid ----------------------------------------------------------------------------------------------
def affine_grid(theta: Any, out_shape: Any, align_corners: bool = True, name: str | None = None) -> Any:
    """Return the places that affine maps (N, 2, 3) send a regular grid to: (N, H, W, 2), both axes from -1 to 1."""
    need_value("affine_grid", "theta", theta)
    sizes = ints(out_shape.tolist() if hasattr(out_shape, "tolist") else out_shape)
    if len(sizes) != 4:
        raise UsageError(f"affine_grid: out_shape is [N, C, H, W], got {sizes}")
    ends = [_places(size, align_corners) for size in sizes[2:]]
    ys, xs = np.meshgrid(*ends, indexing="ij")
    base = np.stack([xs, ys, np.ones_like(xs)], -1).reshape(1, -1, 3).astype(theta._data.dtype)
    return ops.reshape(ops.matmul(ops.literal(base), theta, False, True), [-1, *sizes[2:], 2])


def _places(size: int, align_corners: bool) -> np.ndarray:
    line = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
    return line if align_corners else line * (size - 1) / size


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: str | None = None,
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
    if need_value("grid_sample", "x", x).ndim != 4 or need_value("grid_sample", "grid", grid).ndim != 4:
        raise ShapeError(f"grid_sample: opkit takes images, got {list(x.shape)} and {list(grid.shape)}")
    height, width = x.shape[2:]
    across = _pixels(ops.getitem(grid, (Ellipsis, 0)), width, padding_mode, align_corners)
    down = _pixels(ops.getitem(grid, (Ellipsis, 1)), height, padding_mode, align_corners)
    if mode == "nearest":
        column, line = ops.round_half_even(across), ops.round_half_even(down)
        return _read(x, column, line, ops.add(ops.mul(ops.add(column, line), 0.0), 1.0))
    left, top = ops.floor(across), ops.floor(down)
    right, bottom = ops.add(left, 1.0), ops.add(top, 1.0)
    total = None
    for column, far_column in ((left, right), (right, left)):
        for line, far_line in ((top, bottom), (bottom, top)):
            share = ops.mul(ops.abs(ops.sub(far_column, across)), ops.abs(ops.sub(far_line, down)))
            part = _read(x, column, line, share)
            total = part if total is None else ops.add(total, part)
    return total


def _pixels(place: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    """Return places between -1 and 1 as numbers of pixels."""
    if align_corners:
        pixel = ops.mul(ops.add(place, 1.0), (size - 1) / 2)
    else:
        pixel = ops.sub(ops.mul(ops.add(place, 1.0), size / 2), 0.5)
    if padding_mode == "reflection":
        low, span = (0.0, 2.0 * (size - 1)) if align_corners else (-0.5, 2.0 * size)
        if span == 0:
            return ops.mul(pixel, 0.0)
        turned = ops.floor_mod(ops.abs(ops.sub(pixel, low)), span)
        pixel = ops.add(ops.minimum(turned, ops.sub(span, turned)), low)
    return pixel if padding_mode == "zeros" else ops.clip(pixel, 0.0, float(size - 1))


def _read(x: Any, column: Any, line: Any, share: Any) -> Any:
    n, c, height, width = x.shape
    inside = ops.logical_and(
        ops.logical_and(ops.greater_equal(column, 0.0), ops.less_equal(column, width - 1.0)),
        ops.logical_and(ops.greater_equal(line, 0.0), ops.less_equal(line, height - 1.0)),
    )
    at = ops.add(ops.mul(ops.clip(line, 0.0, height - 1.0), float(width)), ops.clip(column, 0.0, width - 1.0))
    places = ops.reshape(ops.cast(at, "int64"), [n, 1, -1])
    wide = ops.broadcast_to(places, [n, c, places.shape[2]])
    found = ops.take_along_axis(ops.reshape(x, [n, c, height * width]), wide, 2)
    weight = ops.mul(ops.cast_like(inside, found), share)
    shape = list(column.shape)
    return ops.reshape(ops.mul(found, ops.reshape(weight, [n, 1, -1])), [n, c, *shape[1:]])
