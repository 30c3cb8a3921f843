"""Shards: a whole array cut for the devices of a group, and put together again.

Pure numpy; what a cut costs to move is in ``boxing``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opkit.errors import UsageError
from opkit.sharding.sbp import Sbp
from opkit.sharding.splitting import balanced


def cut(array: np.ndarray, sbp: Sbp, count: int, rng: np.random.Generator | None = None) -> list[np.ndarray]:
    """Return what each device has of a whole array.

    Args:
        array: the whole.
        sbp: how it lies; S gives views, B the array itself.
        count: of devices.
        rng: draws the partial sums of P; without it the first device has the whole and the others zeros.

    Raises:
        UsageError: the axis is not there, or there is no device.

    Source: OneFlow v0.4.0, core/graph/boxing/naive_b2p_sub_task_graph_builder.cpp, for P of a whole.
    """
    if count < 1:
        raise UsageError("there must be at least one device")
    if not sbp.fits(array.ndim):
        raise UsageError(f"{sbp} does not fit an array of shape {array.shape}")
    if sbp.kind == "B":
        return [array] * count
    if sbp.is_split:
        return [_part(array, sbp.axis, part) for part in balanced(array.shape[sbp.axis], count)]
    if rng is not None:
        return parts_of(array, count, rng)
    return [array] + [np.zeros_like(array) for _ in range(count - 1)]


def gathered(shards: Sequence[np.ndarray], sbp: Sbp) -> np.ndarray:
    """Return the whole that devices have together.

    Args:
        shards: one per device.
        sbp: how it lies; of B the first device's array is returned, P is summed in the arrays' own dtype.

    Raises:
        ValueError: the shapes do not go together.
    """
    if sbp.is_split:
        return np.concatenate(shards, axis=sbp.axis)
    if sbp.kind == "B":
        return shards[0]
    if any(shard.shape != shards[0].shape for shard in shards):
        raise ValueError(f"partial sums differ in shape: {', '.join(str(shard.shape) for shard in shards)}")
    whole = np.array(shards[0])
    for shard in shards[1:]:
        whole = np.asarray(whole + shard, dtype=whole.dtype)
    return whole


def parts_of(array: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return arrays that sum to an array and have nothing in common but that.

    Each element is cut in a way of its own: parts differ in size and sign from element to element and from device to
    device, so that a function that is linear only on equal or positive parts is seen not to be. Booleans and unsigned
    integers have parts that are not negative.

    Args:
        array: the whole.
        count: of parts.
        rng: draws them.
    """
    if array.dtype.kind == "b" or array.dtype.kind == "u":
        return _unsigned(array, count, rng)
    values = [_drawn(array, rng) for _ in range(count - 1)]
    order = rng.permutation(count)
    last = array
    for value in values:
        last = np.asarray(last - value, dtype=array.dtype)
    parts = [*values, last]
    return [parts[place] for place in order]


def _part(array: np.ndarray, axis: int, part: range) -> np.ndarray:
    found: np.ndarray = array[(slice(None),) * axis + (slice(part.start, part.stop),)]
    return found


def _drawn(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return values of an array's dtype, of its size and of both signs."""
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind in "fc" else np.abs(array)
    scale = float(finite.max(initial=0)) or 1.0
    if array.dtype.kind == "i":
        widest = np.iinfo(array.dtype).max // 4
        bound = max(1, min(int(scale) + 1, int(widest)))
        return rng.integers(-bound, bound + 1, array.shape).astype(array.dtype)
    values = rng.uniform(0.2, 1.8, array.shape) * rng.choice([-1.0, 1.0], array.shape) * scale
    if array.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(array.shape) * scale
    return np.asarray(values).astype(array.dtype)


def _unsigned(array: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return parts that are not negative: each device takes a drawn share of what is left."""
    if array.dtype.kind == "b":
        owner = rng.integers(0, count, array.shape)
        return [np.asarray(array & (owner == place)) for place in range(count)]
    left = array.astype(np.uint64)
    parts = []
    for _ in range(count - 1):
        taken = np.asarray(np.minimum(np.floor(rng.random(array.shape) * (left + 1.0)).astype(np.uint64), left))
        parts.append(taken.astype(array.dtype))
        left = left - taken
    parts.append(np.asarray(left).astype(array.dtype))
    return [parts[place] for place in rng.permutation(count)]
