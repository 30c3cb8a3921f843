"""Names of a framework that opkit does not have: those that the framework has can be imported, others are errors.

Each facade module knows its own names; ``opkit.shim.known`` those of the frameworks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opkit.deferred import imported
from opkit.errors import MissingNameError, did_you_mean, nearest, unknown

if TYPE_CHECKING:
    from opkit.shim.known import Known, Table

__all__ = ["guard", "missing_module", "present_name"]

#: A part's name in earlier releases -> its name in the release that the table lists.
_RENAMED = {"paddle.fluid": "paddle.base"}

_modules: dict[str, ModuleType] = {}
_names: dict[str, Any] = {}


def guard(
    module: str | Mapping[str, Any],
    names: Iterable[str] = (),
    *,
    otherwise: str = "",
    later: Mapping[str, str] | None = None,
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a facade module.

    A name that the framework has resolves to what opkit has under another of its paths, else to a placeholder that
    raises on use.

    Args:
        module: its ``globals()``, or what users call it; ``opkit.`` in front of its name is not shown.
        names: the names that it has, where it is given by name (its ``__all__``); looked at when one is missing.
        otherwise: the help line where none of them is near.
        later: name -> opkit's module that defines it, or that it is; imported when the name is first asked for.

    Raises:
        MissingNameError: (the function returned) the framework has no such name either, or it is optional there.
    """
    path: str = module if isinstance(module, str) else module["__name__"]
    names = names if isinstance(module, str) else module
    shown = path.removeprefix("opkit.")

    def missing(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        if later and name in later:
            home = imported(later[name])
            value = home if later[name].endswith(f".{name}") else getattr(home, name)
            setattr(sys.modules[path], name, value)
            return value
        return _find(shown, name, names, otherwise)

    return missing


def missing_module(path: str) -> ModuleType | None:
    """Return the placeholder of a module that a framework has and opkit lacks.

    None where the framework lacks it too, and where it counts as not installed.

    Args:
        path: the module's import name, such as ``paddle.vision.models``.
    """
    from opkit.shim.known import OPTIONAL, table_of

    path = _import_name(path)
    table = table_of(path.partition(".")[0])
    if table is None or path in OPTIONAL or not table.is_module(path):
        return None
    return _module(path, table)


def present_name(path: str) -> str:
    """Return the import name under which opkit has a module, given an older one; the same where there is none newer."""
    return _import_name(path)


def _module(path: str, table: Table) -> ModuleType:
    from opkit.shim.placeholder import MissingModule

    if path not in _modules:
        names = table.names(path)
        _modules[path] = MissingModule(path, names, lambda name: _find(path, name, names, ""))
    return _modules[path]


def _find(module: str, name: str, names: Iterable[str], otherwise: str) -> Any:
    """Return what stands for a name that a module of opkit does not define, or raise the error about it."""
    from opkit.shim.known import OPTIONAL, table_of

    path = _import_name(f"{module}.{name}")
    table = table_of(path.partition(".")[0])
    known = table.find(path.rpartition(".")[0], name) if table is not None else None
    if path in OPTIONAL:
        raise MissingNameError(f"opkit has no {module}.{name}: {OPTIONAL[path]}")
    if known is None or table is None:
        found = unknown(
            "opkit has no", name, _present(module, names), prefix=f"{module}.", otherwise=otherwise, limit=3
        )
        raise found.error(MissingNameError)
    if path not in _names:
        _names[path] = _own(known, table) or _placeholder(known, table, f"{module}.{name}", names, otherwise)
    return _names[path]


def _import_name(shown: str) -> str:
    """Return the import name of a path as messages show it; an older path is that of the part's present name."""
    if shown.startswith("flow."):
        return "one" + shown
    for older, present in _RENAMED.items():
        if shown.startswith(older + "."):
            return present + shown.removeprefix(older)
    return shown


def _own(known: Known, table: Table) -> Any:
    """Return what opkit itself has for a name of the framework under its shortest path, None where it has nothing."""
    path = known.shortest
    module, _, name = path.rpartition(".")
    if table.is_module(path):
        held = getattr(sys.modules.get(f"opkit.{module}"), name, None) if path != known.path else None
        if held is not None and not isinstance(held, ModuleType) and not _stands_in(held):
            return held  # the module and what it defines have one name
        return import_module(f"opkit.{path}") if _is_own(path) else _module(path, table)
    if path == known.path or not _is_own(module):
        return None
    value = getattr(import_module(f"opkit.{module}"), name, None)
    return None if _stands_in(value) else value


def _is_own(module: str) -> bool:
    """Return whether opkit has a module of that import name."""
    if f"opkit.{module}" in sys.modules:
        return True
    try:
        return find_spec(f"opkit.{module}") is not None
    except ModuleNotFoundError:  # opkit has no parent of it either
        return False


def _placeholder(known: Known, table: Table, shown: str, names: Iterable[str], otherwise: str) -> Any:
    from opkit.shim.known import instead_of
    from opkit.shim.placeholder import MissingName, missing_exception

    module, _, name = shown.rpartition(".")

    def help() -> str:
        near = [f"{module}.{item}" for item in nearest(name, _present(module, names))]
        return did_you_mean(near) or instead_of(known.path) or otherwise

    make = missing_exception if known.is_exception else MissingName
    return make(shown, table.release, help)


def _present(module: str, names: Iterable[str]) -> list[str]:
    """Return those of a module's public names that opkit has."""
    return [name for name in names if not name.startswith("_") and not _is_placeholder(module, name)]


def _is_placeholder(module: str, name: str) -> bool:
    """Return whether a name that a module seems to have only stands for what opkit lacks."""
    path = _import_name(f"{module}.{name}")
    return path in _modules or _stands_in(_names.get(path)) or module in _modules


def _stands_in(value: Any) -> bool:
    placeholder = sys.modules.get("opkit.shim.placeholder")
    return placeholder is not None and isinstance(value, placeholder.MissingName | placeholder.MissingModule)
