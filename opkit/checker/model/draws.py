"""Draws: the random numbers of each check and of each place in the search, the same for the same seed.

What is drawn is the caller's business; nothing is remembered of what was drawn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from numpy.random.bit_generator import ISeedSequence

from opkit.ir import Shape


class _Known(ISeedSequence):
    """The state that a seed sequence gives to a PCG64, which takes ten times as long to find as to use."""

    def __init__(self, key: Shape) -> None:
        self._state = np.random.SeedSequence(key).generate_state(4, np.uint64)

    def generate_state(self, n_words: int, dtype: object = np.uint64) -> ndarray:
        """Return the state; only a PCG64 asks for it."""
        return self._state


_known = lru_cache(maxsize=4096)(_Known)


def generator(*key: int) -> Generator:
    """Return what ``np.random.default_rng(key)`` returns, in a tenth of the time where the key was used before."""
    return np.random.Generator(np.random.PCG64(_known(key)))  # type: ignore[arg-type]  # the stub knows one class
