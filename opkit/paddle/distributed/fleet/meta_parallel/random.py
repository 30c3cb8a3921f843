"""Named states of the random generator, so that processes draw equal or different numbers on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.tensor.random import get_rng_state, seed, set_rng_state

__all__ = ["RNGStatesTracker", "get_rng_state_tracker"]


class RNGStatesTracker:
    """States of the random generator by name."""

    def __init__(self) -> None:
        self._states: dict[str, Any] = {}

    def reset(self) -> None:
        """Forget all states."""
        self._states.clear()

    def add(self, name: str, number: int) -> None:
        """Add the state that a seed gives.

        Raises:
            UsageError: there is a state of that name.
        """
        if name in self._states:
            raise UsageError(f"RNGStatesTracker.add: there is a state {name!r} already")
        before = get_rng_state()
        seed(number)
        self._states[name] = get_rng_state()
        set_rng_state(before)

    @contextmanager
    def rng_state(self, name: str = "model_parallel_rng") -> Iterator[None]:
        """Draw from a state within the block and keep where it has come to.

        Raises:
            UsageError: there is no state of that name.
        """
        if name not in self._states:
            raise UsageError(
                f"RNGStatesTracker.rng_state: there is no state {name!r}", help="add(name, seed) makes one"
            )
        before = get_rng_state()
        set_rng_state(self._states[name])
        try:
            yield
        finally:
            self._states[name] = get_rng_state()
            set_rng_state(before)


_tracker = RNGStatesTracker()


def get_rng_state_tracker() -> RNGStatesTracker:
    """Return the tracker of this process."""
    return _tracker
