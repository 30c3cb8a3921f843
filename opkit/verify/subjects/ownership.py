"""Owned: the arguments of one call, and whether the called function changed one of them.

Compares by content and by the array that a Tensor stands for; what follows from a change is the checker's business.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.errors import KernelError

__all__ = ["Owned"]


class Owned:
    """Arguments by name as one call gets them, and what they were before.

    Lists, tuples, dicts and sets are copied for the call, so that a function that changes one spoils no later call;
    objects of other classes are passed as they are.

    Args:
        given: the arguments.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.values = {name: _fresh(value) for name, value in given.items()}
        self._before = dict(given)
        self._tensors = [(name, item, item._data, np.array(item._data)) for name, item in _tensors_in(self.values)]

    def keep(self, outputs: Iterable[Tensor]) -> None:
        """Watch over results too: backward must leave them as they are."""
        known = {id(item) for _, item, _, _ in self._tensors}
        self._tensors += [
            ("its output", item, item._data, np.array(item._data)) for item in outputs if id(item) not in known
        ]

    def verify(self, what: str, exempt: Iterable[Tensor] = ()) -> None:
        """Compare the arguments with what they were.

        Args:
            what: the function that was called.
            exempt: Tensors that it may change: an input that forward returns was changed in place on purpose.

        Raises:
            KernelError: one was changed.
        """
        allowed = {id(item) for item in exempt}
        for name, item, array, content in self._tensors:
            if id(item) in allowed:
                continue
            if item._data is not array or not np.array_equal(
                item._data, content, equal_nan=item._data.dtype.kind in "fc"
            ):
                raise _written(what, name)
        for name, value in self.values.items():
            if not _is_same(value, self._before[name]):
                raise _written(what, name)


def _written(what: str, name: str) -> KernelError:
    return KernelError(f"{what} changed {name}, which is read-only: the caller still holds it; work on a copy")


def _tensors_in(values: Mapping[str, Any]) -> list[tuple[str, Tensor]]:
    found: list[tuple[str, Tensor]] = []
    for name, value in values.items():
        items = value if isinstance(value, (list, tuple)) else [value]
        found += [(name, item) for item in items if isinstance(item, Tensor)]
    return found


def _fresh(value: Any) -> Any:
    """Return a copy of plain containers, with the same objects in them."""
    if type(value) in (list, tuple):
        return type(value)(_fresh(item) for item in value)
    if type(value) is dict:
        return {name: _fresh(item) for name, item in value.items()}
    return copy.copy(value) if type(value) is set else value


def _is_same(one: Any, other: Any) -> bool:
    """Say whether containers hold the same: the very objects, or equal plain values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_is_same(a, b) for a, b in zip(one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(_is_same(one[name], other[name]) for name in one)
    if isinstance(one, (bool, int, float, complex, str, bytes, set, frozenset)):
        return bool(one == other) or (one != one and other != other)
    return False
