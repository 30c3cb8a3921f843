"""Freezing: long-lived objects are kept out of the garbage collector's rounds, and given back at the end.

``gc.freeze`` applies to the whole process, so all its users share one state here. Where the program had frozen objects
of its own before, nothing is frozen and nothing given back: the two could not be distinguished.
"""

from __future__ import annotations

import gc


class Freezing:
    """One user of ``gc.freeze``, from when it is made until ``end()``; the last that ends undoes all of it."""

    _open: int = 0
    _is_ours: bool = False

    def __init__(self) -> None:
        if not Freezing._open:
            Freezing._is_ours = gc.get_freeze_count() == 0
        Freezing._open += 1
        self._has_ended = False

    def freeze(self) -> None:
        """Keep all that exists now out of the collector's rounds."""
        if Freezing._is_ours and not self._has_ended:
            gc.freeze()

    def end(self) -> None:
        """End the freezing; a second call has no effect."""
        if self._has_ended:
            return
        self._has_ended = True
        Freezing._open -= 1
        if not Freezing._open and Freezing._is_ours:
            gc.unfreeze()
