"""A part of OneFlow's API: unique names (``flow.util``)."""

from __future__ import annotations

import itertools
import threading

from opkit.shim.missing import guard

__all__ = ["unique_str"]

_counter = itertools.count()
_lock = threading.Lock()


def unique_str(prefix: str = "") -> str:
    """Return a name that no earlier call returned."""
    with _lock:
        return f"{prefix}{next(_counter)}"


__getattr__ = guard("flow.util", __all__)
