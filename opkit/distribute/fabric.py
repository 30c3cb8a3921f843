"""Fabric: what lies between devices, as far as the choice of ways depends on it; what a change of lay costs there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opkit.distribute.way import MIRRORED, Lay
from opkit.record import record
from opkit.sharding import bytes_moved


@record
class Fabric:
    """What lies between devices.

    Args:
        shares_memory: a device reads what another has without a copy; variables exist once, for all devices.
        weight: what a byte that moves costs, in bytes that a kernel reads or writes.
    """

    shares_memory: bool
    weight: float

    def cost(self, shape: Sequence[int], itemsize: int, source: Lay, target: Lay) -> float:
        """Return what a change of lay costs, in bytes that a kernel reads or writes."""
        if source == target:
            return 0.0
        if not self.shares_memory:
            return self.weight * traffic(shape, itemsize, source, target)
        if source.sbp.kind == "B" or (source.sbp == target.sbp and len(source.devices) == len(target.devices)):
            return 0.0
        return self.weight * math.prod(shape) * itemsize


#: Threads of one process: a copy reads and writes each byte.
SHARED_MEMORY = Fabric(True, 2.0)
#: Processes that send each other what they have: some 1 GB/s against some 10 GB/s of memory, and the serialisation.
SEPARATE_MEMORIES = Fabric(False, 20.0)


def traffic(shape: Sequence[int], itemsize: int, source: Lay, target: Lay) -> int:
    """Return how many bytes go from one device to another in a change of lay, where they share no memory."""
    if source == target or MIRRORED in (source.sbp, target.sbp):
        return 0
    return bytes_moved(shape, itemsize, source.sbp, target.sbp, source.devices, target.devices)
