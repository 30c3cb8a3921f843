"""Names of Variables: unique in the process, counted per key; a job has its own counter.

Only strings here. A facade registers its framework's names of ops.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: Op type name -> what the names of its outputs begin with, where that is not the op type name itself.
_prefixes: dict[str, str] = {}


class Names:
    """A counter per key.

    Args:
        prefix: stands in front of every name.
        prefixes: what names of outputs begin with, by op type name; left out: what was registered.
    """

    def __init__(self, prefix: str = "", prefixes: Mapping[str, str] | None = None) -> None:
        self.prefix = prefix
        self.prefixes = _prefixes if prefixes is None else prefixes
        self.counts: dict[str, int] = {}

    def make(self, key: str) -> str:
        """Return ``key_N`` with the key's next number."""
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        return f"{self.prefix}{key}_{count}"


class _Own(threading.local):
    """The counter that a thread uses instead of the process's, or None."""

    names: Names | None = None


_current = Names()
_own = _Own()


def unique_name(key: str) -> str:
    """Return a name that was not returned before.

    Example:
        >>> with guard_names():
        ...     unique_name("fc"), unique_name("fc")
        ('fc_0', 'fc_1')
    """
    return (_own.names or _current).make(key)


def output_name(op_name: str) -> str:
    """Return the name of an op's next output: ``PREFIX_N.tmp_0``, and ``tmp_N`` where the registered prefix is "tmp".

    Example:
        >>> with own_names(Names(prefixes={"broadcast_add": "tmp"})):
        ...     output_name("conv"), output_name("broadcast_add")
        ('conv_0.tmp_0', 'tmp_0')
    """
    names = _own.names or _current
    prefix = names.prefixes.get(op_name, op_name)
    return names.make("tmp") if prefix == "tmp" else names.make(prefix) + ".tmp_0"


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


@contextmanager
def own_names(names: Names) -> Iterator[None]:
    """Take names from a separate counter within a ``with`` block, in this thread; the process's does not change."""
    held, _own.names = _own.names, names
    try:
        yield
    finally:
        _own.names = held


def register_prefixes(prefixes: Mapping[str, str]) -> None:
    """Name outputs of op types after a framework's own names for the ops."""
    _prefixes.update(prefixes)
