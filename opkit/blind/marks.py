"""Marks: what in a process says that something is checked there, taken off it and put back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

#: Packages of opkit that no ordinary run has imported.
CHECKING = ("opkit.blind", "opkit.checker", "opkit.verify")
#: What is hidden now: modules, and the packages as opkit's own attributes.
_hidden: list[tuple[dict[str, ModuleType], dict[str, Any]]] = []


def _hide() -> None:
    modules = {name: module for name, module in sys.modules.items() if name.startswith(CHECKING)}
    words = [name.rpartition(".")[2] for name in CHECKING]
    package = vars(sys.modules["opkit"])
    attributes = {word: package.pop(word) for word in words if word in package}
    for name in modules:
        del sys.modules[name]
    _hidden.append((modules, attributes))


def _show() -> None:
    modules, attributes = _hidden.pop()
    for name in [name for name in sys.modules if name.startswith(CHECKING)]:
        del sys.modules[name]  # the user's code has imported them anew
    sys.modules.update(modules)
    vars(sys.modules["opkit"]).update(attributes)


@contextmanager
def hidden() -> Iterator[None]:
    """Run user code where no module of a check is to be seen."""
    _hide()
    try:
        yield
    finally:
        _show()


@contextmanager
def shown() -> Iterator[None]:
    """Run opkit's own code that may import something, called from user code."""
    if not _hidden:
        yield
        return
    _show()
    try:
        yield
    finally:
        _hide()


def look_ordinary(path: str, environment: Mapping[str, str | None]) -> None:
    """Take all marks off this process for good: modules, arguments, the environment.

    Args:
        path: of the user's file.
        environment: variables as the user's own process has them, None for those that it has not.
    """
    _hide()
    sys.argv = [path]
    sys.orig_argv = ["python", path]  # as one types it; the folder of an interpreter says nothing either way
    sys.dont_write_bytecode = True
    for variable, value in environment.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value
