"""Containers: modules and parameters in lists and dicts (``flow.nn.Sequential`` and its kin, v0.4)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opkit.oneflow.experimental.nn.module import Module

__all__ = ["Sequential"]


class _Listed(Module):
    """What is held under the names "0", "1", ..."""

    _place = "_modules"

    @property
    def _items(self) -> dict[str, Any]:
        found: dict[str, Any] = self.__dict__[self._place]
        return found

    def _made(self, items: Iterable[Any]) -> Any:
        kind: Any = type(self)
        return kind(items)

    def _key(self, index: int) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"{type(self).__name__} has {len(self)} items, number {index} is not there")
        return list(self._items)[at]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._items.values()))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._made(list(self)[index])
        return self._items[self._key(index)]

    def __setitem__(self, index: int, item: Any) -> None:
        self._items[self._key(index)] = item

    def __delitem__(self, index: Any) -> None:
        left = list(self)
        del left[index]
        self._items.clear()
        self.extend(left)

    def append(self, item: Any) -> Any:
        """Add an item at the end."""
        self._items[str(len(self))] = item
        return self

    def extend(self, items: Iterable[Any]) -> Any:
        """Add items at the end."""
        for item in items:
            self.append(item)
        return self

    def __iadd__(self, items: Iterable[Any]) -> Any:
        return self.extend(items)


class Sequential(_Listed):
    """Modules that are called one after the other.

    Args:
        args: modules, or one dict of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def _made(self, items: Iterable[Any]) -> Any:
        return type(self)(*items)

    def forward(self, input: Any) -> Any:
        """Return what the last module makes of what the others make of the input."""
        for module in self:
            input = module(input)
        return input
