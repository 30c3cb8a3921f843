"""Images of shape ``(N, C, H, W)``: pixels and channels rearranged, frames shifted in time.

Images resized and sampled: an axis times a matrix, places of affine maps, pixels read at the places of a grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value, known_size


def pixel_shuffle(x: Value, rows: int, columns: int | None = None) -> Value:
    """Return images ``rows`` times as high, ``columns`` (left out: as many) times as wide, made of their channels."""
    columns = rows if columns is None else columns
    n, c, h, w = x.shape
    left = c // (rows * columns)
    parts = ops.transpose(ops.reshape(x, [n, left, rows, columns, h, w]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(parts, [n, left, h * rows, w * columns])


def pixel_unshuffle(x: Value, r: int) -> Value:
    """Return images whose height and width are divided by r, their r * r pixels in as many channels."""
    n, c, h, w = x.shape
    parts = ops.transpose(ops.reshape(x, [n, c, h // r, r, w // r, r]), [0, 1, 3, 5, 2, 4])
    return ops.reshape(parts, [n, c * r * r, h // r, w // r])


def temporal_shift(x: Value, frames: int, share: float) -> Value:
    """Return frames of which one share of the channels comes from the frame before, another from the one after.

    Source: Lin et al. 2019, "TSM: Temporal Shift Module for Efficient Video Understanding".
    """
    nt, c, h, w = x.shape
    film = ops.reshape(x, [nt // frames, frames, c, h, w])
    first, second = int(c * share), int(c * 2 * share)
    before = ops.pad(ops.slice(film, [1, 2], [0, 0], [frames - 1, first]), [0, 1, 0, 0, 0], [0] * 5)
    after = ops.pad(ops.slice(film, [1, 2], [1, first], [frames, second]), [0] * 5, [0, 1, 0, 0, 0])
    joined = ops.concat([before, after, ops.slice(film, [2], [second], [c])], 2)
    return ops.reshape(joined, [nt, c, h, w])


def resampled(x: Value, matrix: ndarray, axis: int) -> Value:
    """Return ``x`` with an axis multiplied by a matrix ``(new size, size)``."""
    weights = ops.literal(matrix.astype(x._data.dtype))
    return ops.swapaxes(ops.matmul(ops.swapaxes(x, axis, -1), weights, False, True), axis, -1)


def affine_grid(theta: Value, sizes: Ints, *, align_corners: bool) -> Value:
    """Return the places that affine maps (N, 2, 3) send a regular grid of (H, W) to: (N, H, W, 2), from -1 to 1."""
    ends = [_places(size, align_corners) for size in sizes]
    ys, xs = np.meshgrid(*ends, indexing="ij")
    base = np.stack([xs, ys, np.ones_like(xs)], -1).reshape(1, -1, 3).astype(theta._data.dtype)
    return ops.reshape(ops.matmul(ops.literal(base), theta, False, True), [-1, *sizes, 2])


def _places(size: int, align_corners: bool) -> ndarray:
    line = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
    return line if align_corners else line * (size - 1) / size


def grid_sample(x: Value, grid: Value, mode: str, beyond: str, *, align_corners: bool) -> Value:
    """Return images read at the places of a grid.

    Args:
        x: ``(N, C, H, W)``.
        grid: ``(N, h, w, 2)``: x and y of each place, the image reaching from -1 to 1.
        mode: "bilinear" or "nearest".
        beyond: what is beyond the image: "zeros", the "border", or its "reflection".
        align_corners: -1 and 1 are the centres of the corner pixels, not their outer edges.
    """
    height, width = (known_size(x, axis, "grid_sample") for axis in (2, 3))
    across = _pixels(ops.getitem(grid, (Ellipsis, 0)), width, beyond, align_corners)
    down = _pixels(ops.getitem(grid, (Ellipsis, 1)), height, beyond, align_corners)
    if mode == "nearest":
        column, line = ops.round_half_even(across), ops.round_half_even(down)
        return _read(x, column, line, ops.add(ops.mul(ops.add(column, line), 0.0), 1.0))
    left, top = ops.floor(across), ops.floor(down)
    right, bottom = ops.add(left, 1.0), ops.add(top, 1.0)
    total: Any = None
    for column, far_column in ((left, right), (right, left)):
        for line, far_line in ((top, bottom), (bottom, top)):
            share = ops.mul(ops.abs(ops.sub(far_column, across)), ops.abs(ops.sub(far_line, down)))
            part = _read(x, column, line, share)
            total = part if total is None else ops.add(total, part)
    return total


def _pixels(place: Value, size: int, beyond: str, align_corners: bool) -> Value:
    """Return places between -1 and 1 as numbers of pixels."""
    if align_corners:
        pixel = ops.mul(ops.add(place, 1.0), (size - 1) / 2)
    else:
        pixel = ops.sub(ops.mul(ops.add(place, 1.0), size / 2), 0.5)
    if beyond == "reflection":
        low, span = (0.0, 2.0 * (size - 1)) if align_corners else (-0.5, 2.0 * size)
        if span == 0:
            return ops.mul(pixel, 0.0)
        turned = ops.floor_mod(ops.abs(ops.sub(pixel, low)), span)
        pixel = ops.add(ops.minimum(turned, ops.sub(span, turned)), low)
    return pixel if beyond == "zeros" else ops.clip_inside(pixel, 0.0, float(size - 1))


def _read(x: Value, column: Value, line: Value, share: Value) -> Value:
    """Return the pixels at whole places times a share, 0 for places outside."""
    n, c, height, width = (x.shape[0], *(known_size(x, axis, "grid_sample") for axis in (1, 2, 3)))
    inside = ops.logical_and(
        ops.logical_and(ops.greater_equal(column, 0.0), ops.less_equal(column, width - 1.0)),
        ops.logical_and(ops.greater_equal(line, 0.0), ops.less_equal(line, height - 1.0)),
    )
    row, place = ops.clip_inside(line, 0.0, height - 1.0), ops.clip_inside(column, 0.0, width - 1.0)
    places = ops.reshape(ops.cast(ops.add(ops.mul(row, float(width)), place), "int64"), [n, 1, -1])
    wide = ops.broadcast_to(places, [n, c, places.shape[2]])
    found = ops.take_along_axis(ops.reshape(x, [n, c, height * width]), wide, 2)
    weight = ops.mul(ops.cast_like(inside, found), share)
    return ops.reshape(ops.mul(found, ops.reshape(weight, [n, 1, -1])), [n, c, *column.shape[1:]])
