"""The registry of op types by name; a child registry sees its parent's ops and adds its own.

No op is defined here. The module of a built-in op is imported when its op is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from opkit.errors import UsageError, unknown
from opkit.ops.core.homes import HOMES
from opkit.ops.core.opdef import OpType


class Registry:
    """Op types by name.

    Args:
        parent: where a name that is not found here is looked up.
        homes: name -> the module that adds the op of that name when it is imported.
    """

    def __init__(self, parent: Registry | None = None, homes: Mapping[str, str] = MappingProxyType({})) -> None:
        self._parent = parent
        self._homes = homes
        self._ops: dict[str, OpType] = {}

    def add(self, op: OpType, *, replace: bool = False) -> None:
        """Add an op type.

        Raises:
            UsageError: the name is taken here and ``replace`` is false.
        """
        if op.name in self._ops and not replace:
            raise UsageError(f"op type {op.name!r} is registered twice")
        self._ops[op.name] = op

    def remove(self, name: str) -> None:
        """Forget an op type of this registry; the parent's stay."""
        self._ops.pop(name, None)

    def find(self, name: str) -> OpType | None:
        """Return the op type of that name, here or in a parent, or None."""
        found = self._ops.get(name)
        if found is None and name in self._homes:
            import_module(self._homes[name])
            found = self._ops.get(name)
        if found is None and self._parent is not None:
            return self._parent.find(name)
        return found

    def load(self) -> None:
        """Import every module that has ops of this registry and its parents: before processes are forked."""
        for home in dict.fromkeys(self._homes.values()):
            import_module(home)
        if self._parent is not None:
            self._parent.load()

    def get(self, name: str) -> OpType:
        """Return the op type of that name.

        Raises:
            UsageError: there is none; the message offers the nearest.
        """
        found = self.find(name)
        if found is None:
            raise unknown("no op type", name, self, tail=" is registered", limit=3).error(UsageError)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            name in self._ops or name in self._homes or (self._parent is not None and name in self._parent)
        )

    def __iter__(self) -> Iterator[str]:
        own = dict.fromkeys((*self._homes, *self._ops))
        yield from own
        if self._parent is not None:
            yield from (name for name in self._parent if name not in own)


#: The ops that every registry has.
BUILTIN = Registry(homes={name: f"opkit.ops.{home}" for home, names in HOMES.items() for name in names.split()})
