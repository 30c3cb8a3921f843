"""Sequential: modules that are called one after the other (``flow.nn.Sequential``, v0.4)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opkit.oneflow.experimental.nn.module import Module

__all__ = ["Sequential"]


class Sequential(Module):
    """Modules that are called one after the other, held under the names "0", "1", ...

    Args:
        args: modules, or one dict of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], Mapping)
        for name, module in args[0].items() if is_named else enumerate(args):
            self.add_module(str(name), module)

    def _key(self, index: int) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"{type(self).__name__} has {len(self)} items, number {index} is not there")
        return str(list(self._modules)[at])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self)[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, item: Any) -> None:
        self._modules[self._key(index)] = item

    def __delitem__(self, index: Any) -> None:
        left = list(self)
        del left[index]
        self._modules.clear()
        self.extend(left)

    def append(self, item: Any) -> Any:
        """Add an item at the end."""
        self._modules[str(len(self))] = item
        return self

    def extend(self, items: Iterable[Any]) -> Any:
        """Add items at the end."""
        for item in items:
            self.append(item)
        return self

    __iadd__ = extend

    def forward(self, input: Any) -> Any:
        """Return what the last module makes of what the others make of the input."""
        for module in self:
            input = module(input)
        return input
