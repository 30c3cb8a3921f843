"""Scope: the arrays of persistable Variables by name, across runs and programs.

Arrays only; the graph decides which Variables are persistable.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numpy import ndarray

_serials = itertools.count()


class Holder:
    """The place of one Variable's array in a Scope; ``array`` is None until something initialised it."""

    __slots__ = ("array", "name", "scope")

    def __init__(self, scope: Scope, name: str) -> None:
        self.scope = scope
        self.name = name
        self.array: ndarray | None = None

    def put(self, array: ndarray) -> None:
        """Hold this array object from now on; plans for another shape or dtype are made again."""
        held = self.array
        if held is None or held.shape != array.shape or held.dtype != array.dtype:
            self.scope.layout += 1
        self.array = array


class Scope:
    """Arrays by name.

    Attributes:
        layout: grows when an array of another shape or dtype, or a first one, comes in.
    """

    def __init__(self, parent: Scope | None = None) -> None:
        self.serial = next(_serials)
        self.layout = 0
        self._holders: dict[str, Holder] = {}
        self._parent = parent
        self._kids: list[Scope] = []

    def var(self, name: str) -> Holder:
        """Return the place of a name, made if there is none."""
        holder = self._holders.get(name)
        if holder is None:
            holder = self._holders[name] = Holder(self, name)
        return holder

    def find_var(self, name: str) -> Holder | None:
        """Return the place of a name, here or in the parent, or None."""
        holder = self._holders.get(name)
        if holder is None and self._parent is not None:
            return self._parent.find_var(name)
        return holder

    def erase(self, names: list[str]) -> None:
        """Forget names."""
        for name in names:
            self._holders.pop(name, None)
        self.layout += 1

    def new_scope(self) -> Scope:
        """Return a child that sees this one's names."""
        kid = Scope(self)
        self._kids.append(kid)
        return kid

    def drop_kids(self) -> None:
        """Forget the children."""
        self._kids.clear()

    def local_var_names(self) -> list[str]:
        """Return the names held here."""
        return list(self._holders)


class _Current(threading.local):
    def __init__(self) -> None:
        self.scope = _global


_global = Scope()
_current = _Current()


def global_scope() -> Scope:
    """Return the Scope in force."""
    return _current.scope


@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Put another Scope in force within a ``with`` block."""
    held, _current.scope = _current.scope, scope
    try:
        yield
    finally:
        _current.scope = held
