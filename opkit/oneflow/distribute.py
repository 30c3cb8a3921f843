"""How a blob is spread over devices (``flow.distribute``); on one device every choice means the whole blob."""

from __future__ import annotations

from opkit.record import record
from opkit.shim.missing import guard

__all__ = ["Distribute", "auto", "broadcast", "split"]


@record
class Distribute:
    """A named distribution: "S(axis)", "B", or "" where the framework may choose."""

    name: str


def split(axis: int) -> Distribute:
    """Split along an axis."""
    return Distribute(f"S({axis})")


def broadcast() -> Distribute:
    """Give every device the whole blob."""
    return Distribute("B")


def auto() -> Distribute:
    """Let the framework choose."""
    return Distribute("")


__getattr__ = guard("flow.distribute", __all__)
