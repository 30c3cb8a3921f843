"""Interpreter: what the checker itself stands on in this process, and a kernel may replace; found, and put back.

Only what is looked up at each use is watched; what a change means for the verdict is the engine's business.
"""

from __future__ import annotations

import builtins
import json
import pickle
import sys
import traceback
from collections.abc import Callable
from operator import is_, itemgetter
from typing import Any

import numpy as np

_NAMESPACES = (("builtins", vars(builtins)), ("numpy", vars(np)), ("numpy.linalg", vars(np.linalg)))
_FUNCTIONS = {
    label: tuple(name for name, value in namespace.items() if callable(value)) for label, namespace in _NAMESPACES
}
_VALUES = {label: itemgetter(*names) for label, names in _FUNCTIONS.items()}
#: Modules that are imported again and again, and are found in ``sys.modules`` then.
_MODULES = {module.__name__: module for module in (builtins, json, np, pickle, sys, traceback)}


def _file_limit() -> tuple[int, int] | None:
    try:
        import resource
    except ImportError:  # not on every system
        return None
    return resource.getrlimit(resource.RLIMIT_NOFILE)


class Interpreter:
    """Functions and classes of Python and numpy as they are now, loaded modules, and the limit of open files."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, dict[str, Any], tuple[str, ...], tuple[Any, ...]]] = []
        for label, namespace in _NAMESPACES:
            names = _FUNCTIONS[label]
            try:
                values = _VALUES[label](namespace)
            except KeyError:  # something was removed before
                names = tuple(name for name in names if name in namespace)
                values = tuple(map(namespace.__getitem__, names))
            self._kept.append((label, namespace, names, values))
        self._limit = _file_limit()

    # Their values are bound here, since the names may be what was replaced.
    def put_back(
        self, map: Callable[..., Any] = map, all: Callable[..., bool] = all, zip: Callable[..., Any] = zip
    ) -> list[str]:
        """Return the names of what was replaced or removed since, and put it back."""
        changed: list[str] = []
        for label, namespace, names, values in self._kept:
            if all(map(is_, map(namespace.get, names), values)):
                continue
            for name, value in zip(names, values):
                if namespace.get(name) is not value:
                    changed.append(f"{label}.{name}")
                    namespace[name] = value
        for name, module in _MODULES.items():
            if sys.modules.get(name) is not module:
                changed.append(f"sys.modules[{name!r}]")
                sys.modules[name] = module
        if self._limit is not None and _file_limit() != self._limit:
            changed.append("the limit of open files")
            _set_file_limit(self._limit)
        return changed


def _set_file_limit(limit: tuple[int, int]) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit[0] if hard < 0 else min(limit[0], hard), hard))
    except (OSError, ValueError):  # lowered for good
        return
