"""Sbp and Distribution: how a tensor lies on devices, as sharding functions write it.

What such functions are handed is in ``sbp_contexts``.
"""

from __future__ import annotations

from collections.abc import Sequence

from opkit.record import mutable_entity
from opkit.spec.runtime.faults import FatalError

#: An argument of an op and an index among its tensors.
Arg = tuple[str, int]


@mutable_entity
class Sbp:
    """A SbpParallel: ``kind`` is "" (unset), "S", "B" or "P"."""

    kind: str = ""
    axis: int = 0

    def become(self, kind: str) -> Sbp:
        """Set the kind, as the ``mutable_`` accessors do, and return itself."""
        if self.kind != kind:
            self.kind, self.axis = kind, 0
        return self

    def assign(self, other: Sbp) -> None:
        """Become a copy of another."""
        self.kind, self.axis = other.kind, other.axis

    def copy(self) -> Sbp:
        """Return a copy."""
        return Sbp(self.kind, self.axis)

    def set_axis(self, axis: int) -> None:
        """Set the axis that is split."""
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sbp) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.kind, self.axis))

    def __str__(self) -> str:
        return f"S({self.axis})" if self.kind == "S" else self.kind


class Distribution:
    """A ParallelDistribution: one Sbp for each axis of the device hierarchy."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Sbp] = ()) -> None:
        self.parts = [part.copy() for part in parts]

    def at(self, index: int) -> Sbp:
        """Return the Sbp of one axis."""
        if 0 <= index < len(self.parts):
            return self.parts[index]
        raise FatalError(f"the distribution has {len(self.parts)} parts, none at {index}")

    def add(self) -> Sbp:
        """Append an unset Sbp and return it."""
        self.parts.append(Sbp())
        return self.parts[-1]

    def clear(self) -> None:
        """Remove all parts."""
        self.parts.clear()

    def assign(self, other: Distribution) -> None:
        """Become a copy of another."""
        self.parts = [part.copy() for part in other.parts]

    def copy(self) -> Distribution:
        """Return a copy."""
        return Distribution(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]
