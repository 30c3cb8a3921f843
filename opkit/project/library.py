"""Library: the op directories that a process has loaded, and the registry in which their op types are found.

A job's builder looks op types up here; checking many directories uses no library, so that their op types stay separate.
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.errors import ProjectError
from opkit.ops import BUILTIN, Registry
from opkit.paths import StrPath
from opkit.project.loading import LoadedOps, load


class Library:
    """Loaded op directories.

    Args:
        parent: the registry of the built-in ops.

    Attributes:
        registry: finds the op types of all loaded directories, and the built-in ones.
    """

    def __init__(self, parent: Registry = BUILTIN) -> None:
        self.registry = Registry(parent)
        self._loaded: dict[str, LoadedOps] = {}

    def load(self, path: StrPath) -> LoadedOps:
        """Load an op directory; loading the same real path again replaces its ops with what its files say now.

        Raises:
            ProjectError: it cannot be loaded, or defines an op type that another directory has defined.
        """
        return self._added(load(path, self.registry))

    def load_sources(self, folder: StrPath) -> LoadedOps:
        """Load the ops and kernels that the C++ sources of a folder register; see ``opkit.project.sources``.

        Raises:
            ProjectError: as ``load``.
        """
        from opkit.project.sources import load_sources

        return self._added(load_sources(folder, self.registry))

    def _added(self, loaded: LoadedOps) -> LoadedOps:
        real = loaded.directory.real
        for other in self._loaded.values():
            shared = sorted(set(other.ops) & set(loaded.ops))
            if shared and other.directory.real != real:
                raise ProjectError(
                    f"op type {shared[0]!r} is defined in {other.directory.real} and in {real}",
                    help="an op type has one definition in a process; rename one of the ops",
                )
        before = self._loaded.get(real)
        for name in before.ops if before is not None else ():
            self.registry.remove(name)
        for op in loaded.ops.values():
            self.registry.add(op)
        self._loaded[real] = loaded
        return loaded

    def __iter__(self) -> Iterator[LoadedOps]:
        return iter(self._loaded.values())
