"""Paddle's ways to specify the axis of channels and the padding of windows, for convolutions and pools."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.paddle.tensor.checks import ints


def channel_layout(data_format: str) -> str:
    """Return "channels_first" or "channels_last"."""
    if data_format not in ("NCHW", "NHWC", "NCL", "NLC", "NC", "NCDHW", "NDHWC"):
        raise UsageError(f"data_format is 'NCHW', 'NHWC', 'NCL', 'NLC', 'NCDHW' or 'NDHWC', got {data_format!r}")
    return "channels_first" if data_format.startswith("NC") else "channels_last"


def each(item: Any, count: int) -> list[int]:
    """Return one number per axis, from one for all or a list."""
    values = ints(item)
    return values * count if len(values) == 1 else values


def padding_pairs(padding: Any, dims: int, spatial: list[int]) -> list[tuple[int, int]]:
    """Return the counts before and behind each spatial axis.

    Args:
        padding: one number, one per axis, two per axis, or pairs of all axes or of the spatial ones.
        dims: number of spatial axes.
        spatial: their places in the tensor.
    """
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        pairs = [(int(pair[0]), int(pair[1])) for pair in padding]
        return [pairs[axis] for axis in spatial] if len(pairs) == dims + 2 else pairs
    values = ints(padding)
    if len(values) == 2 * dims:
        return list(zip(values[0::2], values[1::2]))
    return [(value, value) for value in each(padding, dims)]
