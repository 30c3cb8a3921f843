"""Sbp: one way in which a tensor lies on the devices of a group: split along an axis, whole, or as partial sums.

What becomes of arrays is in ``shards``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from opkit.errors import UsageError
from opkit.record import record

_SPLIT = re.compile(r"S\((-?\d+)\)")


@record
class Sbp:
    """How a tensor lies on the devices of a group.

    Args:
        kind: "S": each device has a part of an axis; "B": each has the whole; "P": the sum over all devices is the
            whole.
        axis: the axis that is split, 0 for the other kinds.
    """

    kind: str
    axis: int = 0

    @property
    def is_split(self) -> bool:
        """Whether an axis is split."""
        return self.kind == "S"

    @property
    def dual(self) -> Sbp:
        """How the gradient of a tensor lies that lies so: S stays, B and P change places.

        Source: OneFlow v0.4.0, core/job/sbp_parallel.cpp, GetDualSbpParallel.
        """
        return {"B": PARTIAL, "P": BROADCAST}.get(self.kind, self)

    def fits(self, rank: int) -> bool:
        """Return whether a tensor of this many axes can lie so."""
        return not self.is_split or 0 <= self.axis < rank

    def __str__(self) -> str:
        return f"S({self.axis})" if self.is_split else self.kind


#: The whole tensor is on each device.
BROADCAST = Sbp("B")
#: The tensor is the sum of what the devices have.
PARTIAL = Sbp("P")


def split(axis: int) -> Sbp:
    """Return the split of an axis."""
    return Sbp("S", axis)


@lru_cache(maxsize=256)
def parse_sbp(text: str) -> Sbp:
    """Return what "S(0)", "B" or "P" stands for.

    Raises:
        UsageError: it is none of these.
    """
    found = _SPLIT.fullmatch(text)
    if found:
        return split(int(found[1]))
    if text in ("B", "P"):
        return Sbp(text)
    raise UsageError(f"{text!r} is not a way to lie on devices", help='write "S(0)", "B" or "P"')
