"""Draws: the random numbers of each check and of each place in the search, the same for the same seed.

What is drawn is the caller's business; nothing is remembered of what was drawn.

Random use: whether calls draw from, or seed, numpy's global random numbers.

Only those are watched; whether results follow from chance is purity's business.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from numpy.random.bit_generator import ISeedSequence
from numpy.random.mtrand import get_bit_generator, set_bit_generator

from opkit.checker.model.thresholds import SEED
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


#: In the place of the global generator while a call runs. To make one takes as long as hundreds of calls of most ops.
_PROBE = np.random.MT19937(SEED)
np.random.RandomState(_PROBE).seed(SEED)
#: The second number after the seed: what a call leaves to be drawn that draws nothing.
_SECOND = int(_PROBE.random_raw(2)[1])


class Drawing:
    """Puts another generator in the place of numpy's global one while a call runs, which is as it was afterwards.

    All but one thing: a second normal number that ``np.random.randn`` holds back is kept only where there was one at
    the first call.
    """

    def __init__(self) -> None:
        self._holds_a_normal: bool | None = None

    def touched_by(self, call: Callable[[], object]) -> bool:
        """Return whether a call draws from, seeds or replaces numpy's global random numbers.

        Raises:
            Exception: what the call raised.
        """
        if self._holds_a_normal is None:  # to read the state takes long, so that it is not read each time
            self._holds_a_normal = bool(np.random.get_state(legacy=False)["has_gauss"])
        kept = np.random.get_state() if self._holds_a_normal else None  # an exchange forgets the normal number
        original = get_bit_generator()
        set_bit_generator(_PROBE)
        try:
            np.random.seed(SEED)
            _PROBE.random_raw()
            call()
            return get_bit_generator() is not _PROBE or _PROBE.random_raw() != _SECOND
        finally:
            set_bit_generator(original)
            if kept is not None:
                np.random.set_state(kept)
