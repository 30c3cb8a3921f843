"""Boxing: an array that lies on devices in one way is made to lie in another, on the same devices or on others.

Costs are the bytes that must go from one device to another, whatever carries them. Nothing is run here but numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from opkit.sharding.devices import DeviceGroup
from opkit.sharding.sbp import BROADCAST, Sbp
from opkit.sharding.splitting import balanced


def bytes_moved(
    shape: Sequence[int],
    itemsize: int,
    source: Sbp,
    target: Sbp,
    devices: DeviceGroup,
    others: DeviceGroup | None = None,
) -> int:
    """Return how many bytes go from one device to another in a change.

    A device takes what it has itself and moves only the rest. Partial sums that become something else are summed where
    each part is wanted, and sent on from there.

    Args:
        shape: of the whole.
        itemsize: bytes of one element.
        source: how it lies.
        target: how it is to lie.
        devices: that have it.
        others: that are to have it; the same without it.
    """
    wanted = devices if others is None else others
    total = reduce(lambda whole, size: whole * size, shape, itemsize)
    if source == target and wanted.devices == devices.devices:
        return 0
    if source.kind == "P" and len(devices) == 1:
        source = BROADCAST  # the sum of one part is that part
    if source.kind == "P":
        return _summed(shape, itemsize, target, devices, wanted, total)
    if target.kind == "P":
        return _as_partial(total, source, shape, itemsize, devices, wanted)
    moved = 0
    for place, device in enumerate(wanted.devices):
        need = _share(shape, target, place, len(wanted))
        kept = 0
        if device in devices:
            have = _share(shape, source, devices.place_of(device), len(devices))
            kept = _common(shape, need, have)
        moved += (_size(shape, need) - kept) * itemsize
    return moved


#: A part of an array: (axis, range of it), None for the whole.
_Share = tuple[int, range] | None


def _share(shape: Sequence[int], sbp: Sbp, place: int, count: int) -> _Share:
    return (sbp.axis, balanced(shape[sbp.axis], count)[place]) if sbp.is_split else None


def _size(shape: Sequence[int], share: _Share) -> int:
    sizes = list(shape)
    if share is not None:
        sizes[share[0]] = len(share[1])
    return int(np.prod(sizes, dtype=np.int64))


def _common(shape: Sequence[int], one: _Share, other: _Share) -> int:
    """Return how many elements two parts have in common."""
    sizes = [range(size) for size in shape]
    for share in (one, other):
        if share is not None:
            axis, part = share
            sizes[axis] = range(max(sizes[axis].start, part.start), min(sizes[axis].stop, part.stop))
    return int(np.prod([len(size) for size in sizes], dtype=np.int64))


def _summed(
    shape: Sequence[int], itemsize: int, target: Sbp, devices: DeviceGroup, wanted: DeviceGroup, total: int
) -> int:
    """Return what it costs to sum: every device sends its part to whoever sums it, who sends on what others want."""
    if target.kind == "P":  # the same sums on other devices: each is sent whole to one of them
        return total * sum(1 for device in devices.devices if device not in wanted)
    if target.is_split:
        moved = 0
        for place, device in enumerate(wanted.devices):
            senders = len(devices) - (device in devices)
            moved += senders * _size(shape, _share(shape, target, place, len(wanted))) * itemsize
        return moved
    if wanted.devices == devices.devices:  # each sums a part, then sends it to the others
        return 2 * (len(devices) - 1) * total
    first = wanted.devices[0]
    return total * (len(devices) - (first in devices)) + total * (len(wanted) - 1)


def _as_partial(
    total: int, source: Sbp, shape: Sequence[int], itemsize: int, devices: DeviceGroup, wanted: DeviceGroup
) -> int:
    """Return what it costs to make partial sums of a whole: what a device has is its part, what is nowhere is sent."""
    if source.kind == "B":
        return 0 if set(devices.devices) & set(wanted.devices) else total
    if wanted.devices == devices.devices:
        return 0
    lost = [place for place, device in enumerate(devices.devices) if device not in wanted]
    return sum(_size(shape, _share(shape, source, place, len(devices))) * itemsize for place in lost)
