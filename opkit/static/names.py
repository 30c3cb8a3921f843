"""Names of Variables: unique in the process, counted per key, as Paddle 2.6 makes them.

Only strings here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["Names", "guard_names", "name_prefixes", "register_prefixes", "switch_names", "unique_name"]


class Names:
    """A counter per key.

    Args:
        prefix: stands in front of every name.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.counts: dict[str, int] = {}

    def make(self, key: str) -> str:
        """Return ``key_N`` with the key's next number."""
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        return f"{self.prefix}{key}_{count}"


_current = Names()
#: Op type name -> what the names of its outputs begin with; a facade fills it with its framework's names.
name_prefixes: dict[str, str] = {}


def unique_name(key: str) -> str:
    """Return a name that was not given before.

    Example:
        >>> with guard_names():
        ...     unique_name("fc"), unique_name("fc")
        ('fc_0', 'fc_1')
    """
    return _current.make(key)


def switch_names(new: Names | None = None) -> Names:
    """Put another counter in force and return the one that was."""
    global _current
    held, _current = _current, new if new is not None else Names()
    return held


@contextmanager
def guard_names(prefix: str | Names | None = None) -> Iterator[None]:
    """Count afresh within a ``with`` block."""
    held = switch_names(prefix if isinstance(prefix, Names) else Names(prefix or ""))
    try:
        yield
    finally:
        switch_names(held)


def register_prefixes(prefixes: Mapping[str, str]) -> None:
    """Let outputs of op types be named after a framework's own names for the ops."""
    name_prefixes.update(prefixes)
