"""Table: the public modules and names of one framework, read from the text file beside this module on first need.

A line is a module and its names; ``name=path`` is the same object as that shorter path, ``!name`` an exception class.
``benchmarks/paddle_names.py`` and ``benchmarks/oneflow_names.py`` write the files. What opkit has is not known here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opkit.record import record

#: framework's import name -> what its release is called in messages
RELEASES = {"oneflow": "OneFlow v0.4", "paddle": "Paddle 2.6.2"}


@record
class Known:
    """A name that a framework has.

    Args:
        path: the dotted path that was asked for.
        shortest: the shortest path of the same object; ``path`` where there is no other.
        is_exception: it is an exception class.
    """

    path: str
    shortest: str
    is_exception: bool = False


class Table:
    """The modules of one release of a framework and the names in each.

    Args:
        release: what the release is called in messages.
        text: the lines of the table.
    """

    def __init__(self, release: str, text: str) -> None:
        self.release = release
        lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
        self._modules = {module: names for module, _, names in lines}
        self._split: dict[str, dict[str, Known]] = {}

    def is_module(self, path: str) -> bool:
        """Return whether the framework has a module of that path."""
        return path in self._modules

    def names(self, module: str) -> list[str]:
        """Return the names in a module, its submodules included; none where there is no such module."""
        return list(self._names(module))

    def find(self, module: str, name: str) -> Known | None:
        """Return what a module has under a name, None where it has nothing."""
        return self._names(module).get(name)

    def _names(self, module: str) -> dict[str, Known]:
        found = self._split.get(module)
        if found is None:
            words = self._modules.get(module, "").split()
            found = {known.path.rpartition(".")[2]: known for known in (_known(module, word) for word in words)}
            for path in self._modules:
                parent, _, name = path.rpartition(".")
                if parent == module:
                    found.setdefault(name, Known(path, path))
            self._split[module] = found
        return found


def _known(module: str, word: str) -> Known:
    name, _, shortest = word.removeprefix("!").partition("=")
    path = f"{module}.{name}"
    return Known(path, shortest or path, word.startswith("!"))


@cache
def table_of(framework: str) -> Table | None:
    """Return the table of a framework by its import name, None where there is none."""
    release = RELEASES.get(framework)
    if release is None:
        return None
    return Table(release, (Path(__file__).parent / f"{framework}.txt").read_text(encoding="utf-8"))
