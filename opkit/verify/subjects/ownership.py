"""Owned: the arguments of one call, and whether the called function changed one of them.

Compares by content and by the array that a Tensor stands for; what follows from a change is the checker's business.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from opkit.checker.model.copies import PLAIN
from opkit.eager import Tensor
from opkit.errors import KernelError

#: A name, a Tensor, the array that it stood for, and that array's bits, shape and dtype.
_Kept: TypeAlias = tuple[str, Tensor, np.ndarray, bytes, tuple[int, ...], np.dtype]


class Owned:
    """Arguments by name as one call gets them, and what they were before.

    Lists, tuples, dicts and sets are copied for the call, so that a function that changes one spoils no later call;
    objects of other classes are passed as they are.

    Args:
        given: the arguments.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = {}
        self._tensors: list[_Kept] = []
        self._containers: list[tuple[str, Any, Any]] = []
        for name, value in given.items():
            if isinstance(value, Tensor):
                self.values[name] = value
                self._keep(name, value)
                continue
            if type(value) in PLAIN:
                self.values[name] = value
                continue
            self.values[name] = fresh = _fresh(value)
            if fresh is not value:
                self._containers.append((name, fresh, value))
            if isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, Tensor):
                        self._keep(name, item)

    def _keep(self, name: str, item: Tensor) -> None:
        array = item._data
        self._tensors.append((name, item, array, array.tobytes(), array.shape, array.dtype))

    def keep(self, name: str, tensors: Iterable[Tensor]) -> None:
        """Watch over Tensors besides, under one name: results and incoming gradients must stay as they are too."""
        known = [kept[1] for kept in self._tensors]
        for item in tensors:
            if not any(item is one for one in known):
                self._keep(name, item)

    def gave(self, outputs: Iterable[Tensor]) -> bool:
        """Return whether one of the outputs stands for the array of an argument."""
        given = {id(kept[2]) for kept in self._tensors}
        return any(id(item._data) in given for item in outputs)

    def verify(self, what: str, exempt: Sequence[Tensor] = ()) -> None:
        """Compare the arguments with what they were.

        Args:
            what: the function that was called.
            exempt: Tensors that it may change: an input that forward returns was changed in place on purpose.

        Raises:
            KernelError: one was changed.
        """
        for name, item, array, content, shape, dtype in self._tensors:
            same = array.tobytes() == content and item._data is array
            same = same and array.shape == shape and array.dtype is dtype
            if not same and not any(item is one for one in exempt):
                raise _written(what, name)
        for name, value, before in self._containers:
            if not _is_same(value, before):
                raise _written(what, name)


def _written(what: str, name: str) -> KernelError:
    return KernelError(f"{what} changed {name}, which is read-only: the caller still holds it; work on a copy")


def _fresh(value: Any) -> Any:
    """Return a copy of plain containers, with the same objects in them."""
    if isinstance(value, Tensor):
        return value
    if type(value) in (list, tuple):
        return type(value)(_fresh(item) for item in value)
    if type(value) is dict:
        return {name: _fresh(item) for name, item in value.items()}
    return copy.copy(value) if type(value) is set else value


def _is_same(one: Any, other: Any) -> bool:
    """Return whether containers hold the same: the very objects, or equal plain values."""
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
