"""Names of a package that are imported when they are first asked for.

It knows no package: each one declares which of its names is defined in which module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from opkit.collection import uncollected


def imported(module: str) -> ModuleType:
    """Import a module while the garbage collector rests."""
    with uncollected():
        return import_module(module)


def deferred(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: it imports a name's module and keeps the value in the package.

    Args:
        package: the package's ``__name__``.
        homes: name -> the module within the package that defines it; a module of opkit itself for ``opkit``.

    Raises:
        AttributeError: (the function returned) the package has no such name.
    """

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(imported(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
