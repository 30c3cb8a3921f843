"""``paddle.base.reader``: the older path of the DataLoader."""

from opkit.paddle.io.loader import DataLoader
from opkit.shim.missing import guard

__all__ = ["DataLoader", "use_pinned_memory"]


def use_pinned_memory(*args: bool) -> bool | None:
    """Return whether batches lie in pinned memory: no; a value is accepted, without effect."""
    return None if args else False


__getattr__ = guard(globals())
