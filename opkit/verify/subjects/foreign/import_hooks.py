"""Import hooks: something is done as soon as a module has been imported, whoever imports it.

The import itself is left to Python's own finders.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Finder:
    """Finds the modules that are waited for where others find them, and says when they have been run."""

    def __init__(self, names: Iterable[str], tell: Callable[[str], object]) -> None:
        self._waiting = set(names)
        self._tell = tell

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._waiting:
            return None
        self._waiting.discard(name)  # the question below comes back here
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self._tell(name)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def at_arrival(names: Iterable[str], tell: Callable[[str], object]) -> Iterator[None]:
    """Call a function with the name of each module, once it is imported; at once where it is."""
    wanted = list(names)
    for name in wanted:
        if name in sys.modules:
            tell(name)
    finder = _Finder([name for name in wanted if name not in sys.modules], tell)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
