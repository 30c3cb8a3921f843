"""Images of shape ``(N, C, H, W)``: pixels and channels rearranged, frames shifted in time."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.value import Value


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
