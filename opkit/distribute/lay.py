"""Lay: where a value is and how: a group of devices, and what each of them has of it.

Arrays are not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

from opkit.ir import Shape
from opkit.record import record
from opkit.sharding import BROADCAST, Device, DeviceGroup, Sbp, balanced

#: The process that the script runs in: what is fed comes from there, results go there, effects happen there.
HOST = DeviceGroup("host", (Device(-1, 0),))
#: Each device has an array of its own (the mirrored view): nothing can be put together from them.
MIRRORED = Sbp("M")


@record
class Lay:
    """Where a value is and how it lies there.

    Args:
        devices: that have it, or a part of it.
        sbp: what each has of it.
    """

    devices: DeviceGroup
    sbp: Sbp

    def __str__(self) -> str:
        return f"{self.sbp} on {self.devices}"


WHOLE_ON_HOST = Lay(HOST, BROADCAST)


def local_shape(shape: Sequence[int], sbp: Sbp, count: int, place: int) -> Shape:
    """Return the shape that one device's part has.

    Args:
        shape: of the whole.
        sbp: how it lies.
        count: of devices.
        place: of the device among them.
    """
    sizes = list(shape)
    if sbp.is_split:
        sizes[sbp.axis] = len(balanced(shape[sbp.axis], count)[place])
    return tuple(sizes)
