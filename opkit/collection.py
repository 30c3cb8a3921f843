"""Collection: the garbage collector, off while modules are imported; what they make stays for good anyway.

Nothing is imported here, and nothing collected.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Let the garbage collector rest, and work again afterwards if it did before."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
