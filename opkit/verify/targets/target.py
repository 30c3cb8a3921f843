"""Targets: what a user names on the command line, resolved to what can be loaded.

Nothing of the user's is imported or compiled here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from opkit.errors import UsageError, did_you_mean
from opkit.paths import StrPath
from opkit.project.directory import discover, near_files, op_directory_of, python_below
from opkit.record import record
from opkit.verify.isolation.shown import shown_path
from opkit.verify.targets.imports import files_of_functions, gives_py_func

#: The name that stands for every custom function of a file.
ALL = "*"
_PARTS = ("_cpp_def.cpp", "_py_kernel.py", "_py_api.py", "_cases.py")


class TargetKind(Enum):
    """What a target is; the value is what messages call it."""

    DIRECTORY = "op directory"
    NAMED = "name in a file"
    SCRIPT = "script"


@record
class Target:
    """One thing to load and check.

    Args:
        kind: what it is.
        path: absolute path of the directory or file.
        name: the custom function's name (NAMED), the op type that is wanted alone (DIRECTORY), ``ALL`` for a file that
            is imported, not run (SCRIPT), or "".
        module: the name by which the file is imported, "" where it was named by its path.
    """

    kind: TargetKind
    path: str
    name: str = ""
    module: str = ""

    @property
    def directory(self) -> str | None:
        """The op directory as the user would write it, None where the target is a file."""
        return self.label if self.kind is TargetKind.DIRECTORY else None

    @property
    def file(self) -> str:
        """The file or directory as the user would write it."""
        return self.module or shown_path(self.path)

    @property
    def label(self) -> str:
        """The target as the user would write it."""
        return f"{self.file}::{self.name}" if self.name else self.file


def resolve(words: Iterable[StrPath], *, has_functions: bool = True) -> tuple[Target, ...]:
    """Resolve the words of a command line; none means the current folder.

    Args:
        words: as they were given.
        has_functions: whether the files of functions in a folder are targets, too.

    Returns:
        the targets in the order of the words, those of a folder sorted by path, none twice.

    Raises:
        UsageError: a path that does not exist, or a file that cannot hold an op.
    """
    found: dict[Target, None] = {}
    for word in list(words) or ["."]:
        for target in _resolve(os.fspath(word), has_functions):
            found.setdefault(target)
    return tuple(found)


def scripts_below(words: Iterable[StrPath]) -> list[str]:
    """Return the scripts with py_funcs in the folders among words: none is run unasked, so that none is checked."""
    folders = [Path(word) for word in list(words) or ["."] if os.path.isdir(word) and not op_directory_of(word).specs]
    return [shown_path(file) for folder in folders for file in python_below(folder) if gives_py_func(file)]


def _resolve(word: str, has_functions: bool) -> Iterator[Target]:
    head, _, name = word.rpartition("::")
    if not head:
        head, name = word, ""
    if word.endswith("::"):
        raise UsageError(f"{word!r} has no name behind the '::'", help=f"{head} checks all of it, {head}::NAME one")
    path = Path(os.path.abspath(head))
    if os.path.isdir(path) or (path.name.endswith(_PARTS) and op_directory_of(path.parent).specs):
        below = files_of_functions(python_below(path)) if has_functions and path.is_dir() and not name else ()
        for directory in discover([path]):
            yield Target(TargetKind.DIRECTORY, os.path.abspath(directory.path), name)
        for file in below:
            yield Target(TargetKind.SCRIPT, os.path.abspath(file), ALL)
    elif module := _module_file(head) if name and not os.path.exists(path) else "":
        yield Target(_kind(name), module, name, head)
    elif not os.path.exists(path):  # Path's own method raises where a name is too long
        if os.path.islink(path):
            raise UsageError(f"{head!r} is a link that leads to no file or folder")
        what = "file, folder or module" if name and not head.endswith(".py") else "file or folder"
        raise UsageError(f"no such {what}: {head!r}", help=did_you_mean(near_files(head)[:1]))
    elif path.suffix == ".py":
        yield Target(_kind(name), str(path), name)
    else:
        raise UsageError(
            f"cannot check {head}: not an op directory and not a Python file",
            help="give an op directory, a folder of them, FILE.py::Name, package.module::Name, or a script",
        )


def _kind(name: str) -> TargetKind:
    return TargetKind.SCRIPT if name in ("", ALL) else TargetKind.NAMED


def _module_file(name: str) -> str:
    """Return the file of a module by its dotted name, "" where none is found; its packages are not imported."""
    places: Any = [os.getcwd(), *sys.path]
    spec = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        if not all(map(str.isidentifier, parts)) or places is None:  # no package, but os has a module os.path
            return getattr(sys.modules.get(name), "__file__", None) or ""
        whole = ".".join(parts[:count])
        spec = PathFinder.find_spec(parts[count - 1], places)  # by the whole name it looks for the package imported
        if spec is None:
            finders = [finder.find_spec for finder in sys.meta_path if hasattr(finder, "find_spec")]
            spec = next(filter(None, (find(whole, places) for find in finders)), None)
        places = None if spec is None else spec.submodule_search_locations
    return spec.origin or "" if spec is not None and spec.has_location else ""
