"""OpDirectory: the files of one op by name, and the search for op directories below a folder.

Only folder listings are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from opkit.errors import UsageError, did_you_mean, nearest
from opkit.paths import StrPath
from opkit.record import record

_SPEC = "_cpp_def.cpp"
_PARTS = (_SPEC, "_py_api.py", "_py_kernel.py", "_cpp_kernel.cpp", "_cases.py")
_SKIPPED = ("site-packages", "__pycache__")


@record
class OpDirectory:
    """A folder that holds an op, and the paths its files must have (whether they exist or not).

    Args:
        path: the folder as the user would write it.
        name: the op's name, which is the folder's.
    """

    path: Path
    name: str

    @property
    def spec(self) -> Path:
        """The op definitions."""
        return self.path / f"{self.name}_cpp_def.cpp"

    @property
    def api(self) -> Path:
        """The wrapper functions."""
        return self.path / f"{self.name}_py_api.py"

    @property
    def kernel(self) -> Path:
        """The Python kernels."""
        return self.path / f"{self.name}_py_kernel.py"

    @property
    def cases(self) -> Path:
        """The optional cases."""
        return self.path / f"{self.name}_cases.py"

    @property
    def test(self) -> Path:
        """The optional tests."""
        return self.path / f"test_{self.name}.py"

    @property
    def specs(self) -> tuple[Path, ...]:
        """Every ``*_cpp_def.cpp`` in the folder; more than one, or another name than ``spec``, is a mistake."""
        return tuple(sorted(path for path in self.path.glob(f"*{_SPEC}") if path.is_file()))

    @property
    def cpp_kernels(self) -> tuple[Path, ...]:
        """C++ kernels, the sources of one library."""
        return tuple(sorted(self.path.glob("*_cpp_kernel.cpp")))

    @property
    def real(self) -> str:
        """The folder's identity: its path without symbolic links."""
        return os.path.realpath(self.path)


def op_directory_of(path: StrPath) -> OpDirectory:
    """Return a folder as an op directory, by its name alone."""
    folder = Path(path)
    return OpDirectory(folder, folder.name or Path(os.path.abspath(folder)).name)


def near_files(path: StrPath, suffix: str = "") -> list[str]:
    """Return files and folders beside a missing path with similar names, best first.

    Args:
        path: as a user wrote it.
        suffix: what the names must end in.
    """
    wanted = Path(path)
    try:
        names = [name for name in os.listdir(wanted.parent) if name.endswith(suffix) and not name.startswith(".")]
    except OSError:
        return []
    names = [name for name in names if name != wanted.name]  # a link that leads nowhere
    return [str(wanted.parent / name) for name in nearest(wanted.name, names)]


def is_part(path: StrPath) -> bool:
    """Whether a file's name is that of a part of an op directory."""
    return Path(path).name.endswith(_PARTS)


def discover(paths: Iterable[StrPath] = ()) -> tuple[OpDirectory, ...]:
    """Find the op directories at and below paths; none means the current folder.

    A path may be an op directory, a folder of any depth, or a file of an op directory. Dot folders, site-packages
    and folders that were seen already (symbolic links) are skipped below a path, never the path itself. A path that
    was named and holds some of an op's files without its definitions counts too, so that building reports what is
    missing.

    Returns:
        the directories, each once, those of a folder sorted by path.

    Raises:
        UsageError: a path does not exist, or is a file that belongs to no op directory.
    """
    found: dict[str, OpDirectory] = {}
    for path in list(paths) or ["."]:
        for directory in _discover(Path(path)):
            found.setdefault(directory.real, directory)
    return tuple(found.values())


def python_below(path: StrPath) -> list[Path]:
    """Return the Python files at and below a folder, sorted, but for those of op directories."""
    found = []
    for folder, entries in _walk(Path(path), set()):
        if not _is_op(entries):
            names = (entry.name for entry in entries if _is(entry.is_file))
            found += [folder / name for name in names if name.endswith(".py")]
    return found


def _discover(path: Path) -> Iterator[OpDirectory]:
    if os.path.isfile(path):
        if not is_part(path):
            raise UsageError(f"{str(path)!r} is not a file of an op directory (NAME{_SPEC} and its companions)")
        yield op_directory_of(path.parent)
        return
    if not os.path.isdir(path):
        if os.path.islink(path):
            raise UsageError(f"{str(path)!r} is a link that leads to no file or folder")
        raise UsageError(f"no such file or folder: {str(path)!r}", help=did_you_mean(near_files(path)[:1]))
    below = [op_directory_of(folder) for folder, entries in _walk(path, set()) if _is_op(entries)]
    if not below and any(item.name.endswith(_PARTS) for item in path.iterdir()):
        below = [op_directory_of(path)]
    yield from below


def _is_op(entries: Iterable[os.DirEntry[str]]) -> bool:
    return any(entry.name.endswith(_SPEC) and _is(entry.is_file) for entry in entries)


def _walk(top: Path, seen: set[tuple[int, int]]) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """Yield the folders at and below one, and what they hold; what cannot be read, and circles, are passed over."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            # f2 comes before f10
            entries = sorted(
                os.scandir(folder),
                key=lambda entry: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", entry.name)],
            )
        except OSError:
            continue
        yield folder, entries
        below = (item for item in entries if not item.name.startswith(".") and item.name not in _SKIPPED)
        waiting += [folder / entry.name for entry in reversed([item for item in below if _is(item.is_dir)])]


def _is(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except OSError:  # a link to itself
        return False
