"""Containers: modules and parameters in lists and dicts (``flow.nn.Sequential`` and its kin, v0.4)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opkit.oneflow.experimental.nn.module import Module
from opkit.oneflow.experimental.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


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


class ModuleList(_Listed):
    """A list of modules.

    Args:
        modules: the modules.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def insert(self, index: int, module: Module) -> None:
        """Put a module before another."""
        items = list(self)
        items.insert(index, module)
        self._items.clear()
        self.extend(items)


class ParameterList(_Listed):
    """A list of parameters.

    Args:
        parameters: the parameters.
    """

    _place = "_parameters"

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        self.extend(parameters or ())


class _Named(Module):
    """What is held under names that the user chooses."""

    _place = "_modules"

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.update(items or {})

    @property
    def _items(self) -> dict[str, Any]:
        found: dict[str, Any] = self.__dict__[self._place]
        return found

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __setitem__(self, name: str, item: Any) -> None:
        self._items[name] = item

    def __delitem__(self, name: str) -> None:
        del self._items[name]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def clear(self) -> None:
        """Remove all items."""
        self._items.clear()

    def pop(self, name: str) -> Any:
        """Remove an item and return it."""
        return self._items.pop(name)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._items.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names with their items."""
        return self._items.items()

    def values(self) -> Iterable[Any]:
        """Return the items."""
        return self._items.values()

    def update(self, items: Any) -> None:
        """Add items from a dict, or from pairs of name and item."""
        for name, item in items.items() if hasattr(items, "items") else items:
            self[name] = item


class ModuleDict(_Named):
    """Modules by name."""


class ParameterDict(_Named):
    """Parameters by name."""

    _place = "_parameters"
