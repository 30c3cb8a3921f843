"""Collection: the garbage collector, kept away from what stays: modules being imported, and frozen objects.

Nothing is imported here, and nothing collected. ``gc.freeze`` applies to the whole process, so all its users share one
state here. Where the program had frozen objects of its own before, nothing is frozen and nothing given back: the two
could not be distinguished.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Let the garbage collector rest, and work again afterwards if it did before; what was made is old then."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        is_frozen = Freezing.is_ours and Freezing.users > 0
        if is_frozen or not gc.get_freeze_count():
            gc.freeze()
            if not is_frozen:
                gc.unfreeze()  # into the oldest generation: no round now, where all of it is found alive
        if is_on:
            gc.enable()


class Freezing:
    """One user of ``gc.freeze``, from when it is made until ``end()``; the last that ends undoes all of it."""

    users: int = 0
    is_ours: bool = False

    def __init__(self) -> None:
        if not Freezing.users:
            Freezing.is_ours = gc.get_freeze_count() == 0
        Freezing.users += 1
        self._has_ended = False

    def freeze(self) -> None:
        """Keep all that exists now out of the collector's rounds."""
        if Freezing.is_ours and not self._has_ended:
            gc.freeze()

    def end(self) -> None:
        """End the freezing; a second call has no effect."""
        if self._has_ended:
            return
        self._has_ended = True
        Freezing.users -= 1
        if not Freezing.users and Freezing.is_ours:
            gc.unfreeze()
