"""A matrix of errors as a picture that can be embedded in a page: a PNG in a data URI.

Colour means the logarithm of the error; exact zeros are transparent, violet is not finite.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from opkit.record import record

_LARGEST = 256
#: Light yellow over orange to dark red: readable on white and black, and in grey.
_SCALE = np.array(
    [[255, 250, 205], [254, 217, 118], [253, 141, 60], [227, 26, 28], [128, 0, 38]],
    dtype=np.float64,
)
_BROKEN = (126, 34, 206)


@record
class HeatMap:
    """A picture and what its colours mean.

    Args:
        uri: ``data:image/png;base64,...``.
        rows, columns: of the matrix; several entries share a pixel where it is large (then the worst shows).
        low, high: smallest and largest error above zero.
        scale: the CSS colours from low to high.
        is_pooled: whether entries share pixels.
        is_broken: no entry is finite, so that there is nothing to see.
    """

    uri: str
    rows: int
    columns: int
    low: float
    high: float
    scale: tuple[str, ...]
    is_pooled: bool
    is_broken: bool = False


def heat_map(errors: np.ndarray) -> HeatMap | None:
    """Draw |error| over a Jacobian.

    Args:
        errors: (input elements, output elements), any float dtype; other shapes are read as one row.

    Returns:
        The picture, None for an empty matrix.
    """
    matrix = np.abs(np.asarray(errors, dtype=np.float64))
    matrix = matrix if matrix.ndim == 2 else matrix.reshape(1, -1)
    if matrix.size == 0:
        return None
    rows, columns = matrix.shape
    pooled = _pool(_pool(matrix, rows).T, columns).T
    finite = pooled[np.isfinite(pooled) & (pooled > 0)]
    high = float(finite.max(initial=0.0))
    low = float(finite.min(initial=high / 100))  # errors that are alike have one colour
    pixels = colors(pooled, low, high)
    scale = tuple(f"rgb({', '.join(str(int(part)) for part in color)})" for color in _SCALE)
    uri = "data:image/png;base64," + base64.b64encode(_png(pixels)).decode()
    return HeatMap(uri, rows, columns, low, high, scale, pooled.shape != matrix.shape, not np.isfinite(matrix).any())


def _pool(matrix: np.ndarray, length: int) -> np.ndarray:
    """Keep the worst of neighbouring rows, so that at most _LARGEST remain."""
    if length <= _LARGEST:
        return matrix
    starts = np.linspace(0, length, _LARGEST, endpoint=False).astype(int)
    pooled: np.ndarray = np.fmax.reduceat(np.where(np.isnan(matrix), np.inf, matrix), starts, axis=0)
    return pooled


def colors(matrix: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return uint8 (rows, columns, 4), transparent where the matrix is zero.

    Args:
        matrix: float64, nowhere below zero.
        low: where the scale begins.
        high: where it ends.
    """
    pixels = np.full((*matrix.shape, 4), 255, dtype=np.uint8)
    is_shown = np.isfinite(matrix) & (matrix > 0)
    span = np.log10(high) - np.log10(low) if high > low else 0.0
    at = np.ones(matrix.shape)
    if span > 0:
        at[is_shown] = (np.log10(matrix[is_shown]) - np.log10(low)) / span
    stops = np.linspace(0, 1, len(_SCALE))
    for channel in range(3):
        pixels[..., channel] = np.interp(at, stops, _SCALE[:, channel]).astype(np.uint8)
    pixels[matrix == 0] = 0
    pixels[~np.isfinite(matrix), :3] = _BROKEN
    return pixels


def _png(pixels: np.ndarray) -> bytes:
    """Encode uint8 (rows, columns, 4) as a PNG."""
    rows, columns, _ = pixels.shape
    raw = np.zeros((rows, 1 + columns * 4), dtype=np.uint8)
    raw[:, 1:] = pixels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
