"""Targets: what a user names on the command line, resolved to what can be loaded.

Nothing of the user's is imported or compiled here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from opkit.errors import UsageError, did_you_mean
from opkit.project.directory import discover, near_files, op_directory_of
from opkit.verify.isolation.blame import shown_path

_PARTS = ("_cpp_def.cpp", "_py_kernel.py", "_py_api.py", "_cases.py")


class TargetKind(Enum):
    """What a target is; the value is what messages call it."""

    DIRECTORY = "op directory"
    NAMED = "name in a file"
    SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to load and check.

    Args:
        kind: what it is.
        path: absolute path of the directory or file.
        name: the PyLayer's name (NAMED), or the op type that is wanted alone (DIRECTORY), or "".
    """

    kind: TargetKind
    path: str
    name: str = ""

    @property
    def directory(self) -> str | None:
        """The op directory as the user would write it, None where the target is a file."""
        return self.label if self.kind is TargetKind.DIRECTORY else None

    @property
    def label(self) -> str:
        """The target as the user would write it."""
        shown = shown_path(self.path)
        return f"{shown}::{self.name}" if self.name else shown


def resolve(words: Iterable[str | os.PathLike[str]]) -> tuple[Target, ...]:
    """Resolve the words of a command line; none means the current folder.

    Returns:
        the targets in the order of the words, those of a folder sorted by path, none twice.

    Raises:
        UsageError: a path that does not exist, or a file that cannot hold an op.
    """
    found: dict[Target, None] = {}
    for word in list(words) or ["."]:
        for target in _resolve(os.fspath(word)):
            found.setdefault(target)
    return tuple(found)


def _resolve(word: str) -> Iterator[Target]:
    head, _, name = word.rpartition("::")
    if not head:
        head, name = word, ""
    path = Path(os.path.abspath(head))
    if os.path.isdir(path) or (path.name.endswith(_PARTS) and op_directory_of(path.parent).specs):
        for directory in discover([path]):
            yield Target(TargetKind.DIRECTORY, os.path.abspath(directory.path), name)
    elif not os.path.exists(path):  # Path's own method raises where a name is too long
        if os.path.islink(path):
            raise UsageError(f"{head!r} is a link that leads to no file or folder")
        raise UsageError(f"no such file or folder: {head!r}", help=did_you_mean(near_files(head)[:1]))
    elif path.suffix == ".py":
        yield Target(TargetKind.NAMED if name else TargetKind.SCRIPT, str(path), name)
    else:
        raise UsageError(
            f"cannot check {head}: not an op directory and not a Python file",
            help="give an op directory, a folder of them, FILE.py::PyLayerName, or a script",
        )
