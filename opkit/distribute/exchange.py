"""Exchange: what a device has after a change of lay, from what all devices had before. Numpy only.

Each device makes its own part, as engines do it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from opkit.sharding import Sbp, balanced


def received(sources: Sequence[ndarray], source: Sbp, target: Sbp, count: int, place: int) -> ndarray:
    """Return what one device has after a change of lay.

    Args:
        sources: what each device had.
        source: how it lay.
        target: how it is to lie.
        count: of devices that are to have it.
        place: of the device among them.

    Returns:
        an array that may share memory with what a device had; sums are taken in the order of the devices.
    """
    if target.is_split:
        size = _size(sources, source, target.axis)
        return _part(sources, source, target.axis, balanced(size, count)[place])
    if target.kind == "P":
        if source.kind == "P" and count == len(sources):
            return sources[place]
        whole = _whole(sources, source)
        return whole if place == 0 else np.zeros_like(whole)
    return _whole(sources, source)


def fill(whole: ndarray, sources: Sequence[ndarray], source: Sbp, count: int, place: int) -> None:
    """Compute one device's share of an array that all devices are to have, into memory that they share.

    Args:
        whole: the array.
        sources: what each device had: parts, or partial sums.
        source: how it lay.
        count: of devices that fill it.
        place: of the device among them.
    """
    axis = source.axis if source.is_split else int(np.argmax(whole.shape))
    part = balanced(whole.shape[axis], count)[place]
    at = (slice(None),) * axis + (slice(part.start, part.stop),)
    if source.kind == "P" and len(sources) > 1:
        target = whole[at]
        np.add(sources[0][at], sources[1][at], out=target, casting="unsafe")
        for other in sources[2:]:
            np.add(target, other[at], out=target, casting="unsafe")
        return
    whole[at] = _part(sources, source, axis, part)


def _size(sources: Sequence[ndarray], source: Sbp, axis: int) -> int:
    if source.is_split and source.axis == axis:
        return sum(array.shape[axis] for array in sources)
    return int(sources[0].shape[axis])


def _part(sources: Sequence[ndarray], source: Sbp, axis: int, part: range) -> ndarray:
    """Return a part of the whole along an axis."""
    at = (slice(None),) * axis + (slice(part.start, part.stop),)
    if source.kind == "P":
        return _sum([array[at] for array in sources])
    if not source.is_split:
        return np.asarray(sources[0][at])
    if source.axis != axis:
        pieces = [array[at] for array in sources]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=source.axis)
    pieces, start = [], 0
    for array, size in zip(sources, (array.shape[axis] for array in sources)):
        low, high = max(part.start - start, 0), min(part.stop - start, size)
        if low < high:
            pieces.append(array[(slice(None),) * axis + (slice(low, high),)])
        start += size
    if not pieces:
        return np.asarray(sources[0][(slice(None),) * axis + (slice(0, 0),)])
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=axis)


def _whole(sources: Sequence[ndarray], source: Sbp) -> ndarray:
    if source.is_split:
        return sources[0] if len(sources) == 1 else np.concatenate(sources, axis=source.axis)
    return _sum(sources) if source.kind == "P" else sources[0]


def _sum(arrays: Sequence[ndarray]) -> ndarray:
    if len(arrays) == 1:
        return arrays[0]
    total = np.asarray(np.add(arrays[0], arrays[1], casting="unsafe"), dtype=arrays[0].dtype)
    for array in arrays[2:]:
        total = np.asarray(total + array, dtype=total.dtype)
    return total
