"""Writing files so that each appears complete or not at all, and several as one save, even if the process is killed.

The caller decides what is written; no format is known here.

Files that belong together are first written into a scratch folder, which then becomes ``.LABEL.opkit-save``: from that
moment the save is done. The files are moved to their places out of it; what a killed run did not move is read from
there (``placed``), and is moved by the next save in that folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from opkit.paths import StrPath
from opkit.scratch import folder_lock, is_own, is_scratch, scratch_file, scratch_folder, sweep

_DONE = ".opkit-save"
#: The list of a save's files, within its folder.
_LIST = ".files"
_LONGEST_LIST = 1 << 20


def write_file(path: StrPath, data: bytes) -> None:
    """Write a file, which appears whole or not at all; its folder is made.

    The file gets the permissions that ``open`` would give it. A symlink stays one: what it points to is written. What
    is there and is neither file nor folder, such as a pipe or ``/dev/stdout``, is written to as it is.

    Raises:
        OSError: it cannot be written, and its name says so; what was there before is untouched then.
    """
    with _naming(path):
        _write_file(path, data)


def _write_file(path: StrPath, data: bytes) -> None:
    full = os.path.realpath(path)
    if os.path.exists(full) and not os.path.isfile(full) and not os.path.isdir(full):
        with open(full, "wb") as stream:
            stream.write(data)
        return
    folder = os.path.dirname(full)
    os.makedirs(folder, exist_ok=True)
    sweep(folder)
    with scratch_file(folder) as scratch:
        write_synced(scratch.path, data)
        open_up(scratch.path, 0o666)
        os.replace(scratch.path, full)
    sync_folder(folder)


def write_together(
    folder: StrPath,
    label: str,
    files: Mapping[str, bytes],
    check: Callable[[Sequence[str]], None] | None = None,
) -> None:
    """Write several files so that all of them are new afterwards, or all as they were.

    Saves of killed runs in the folder are brought to their end first.

    Args:
        folder: which is made.
        label: what the save is called, the same every time; a part of a file's name.
        files: contents by path within the folder, with ``/`` between a sub-folder and a file.
        check: called before anything is written, while no other process saves there, with the paths of the files that
            a killed run had left to be finished; what it raises ends the save.

    Raises:
        OSError: a file cannot be written, or a folder is in the place of one; nothing is changed then.
    """
    top = Path(os.path.realpath(folder))
    top.mkdir(parents=True, exist_ok=True)
    sweep(top)
    with folder_lock(top):
        finished = _finish(top)
        if check is not None:
            check(finished)
        for name in files:
            _check_place(top, name)
        with _naming(folder), scratch_folder(top) as scratch:
            for name, data in files.items():
                place = Path(scratch.path, name)
                with _naming(Path(folder, name)):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    write_synced(place, data)
            write_synced(Path(scratch.path, _LIST), "\n".join(files).encode("utf-8", "surrogateescape"))
            for sub in {Path(scratch.path, name).parent for name in files}:
                sync_folder(sub)
            open_up(scratch.path, 0o777)
            os.rename(scratch.path, top / f".{label}{_DONE}")
        sync_folder(top)
        _finish(top)


def is_fault_of_disk(error: OSError) -> bool:
    """Return whether the disk, and not what was asked for, keeps a file from being written."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)


@contextlib.contextmanager
def _naming(path: StrPath) -> Iterator[None]:
    """Let an error name what was to be written, where it names nothing or scratch beside it."""
    try:
        yield
    except OSError as error:
        named = error.filename
        if error.errno is None or (named is not None and not (isinstance(named, str) and is_scratch(named))):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def placed(folder: StrPath, label: str, name: str) -> Path:
    """Return where a file of a save is now: at its place, or where a killed run left it."""
    waiting = Path(folder, f".{label}{_DONE}", name)
    return waiting if waiting.is_file() else Path(folder, name)


def _finish(top: Path) -> list[str]:
    finished: list[str] = []
    for save in sorted(top.glob(f".*{_DONE}")):
        if save.is_symlink() or not save.is_dir() or not is_own(save):
            continue
        names = _listed(save)
        for name in names:
            source = save / name
            if source.is_file() and not source.is_symlink():
                _check_place(top, name)
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, top / name)
        for part in {(top / name).parent for name in names}:
            sync_folder(part)
        shutil.rmtree(save, ignore_errors=True)
        finished += names
    return finished


def _listed(save: Path) -> list[str]:
    """Return the paths of the files of a save; none where all were moved and the list is gone already."""
    if not (save / _LIST).is_file():
        return []
    with open(save / _LIST, "rb") as stream:
        names = stream.read(_LONGEST_LIST).decode("utf-8", "surrogateescape").split("\n")
    return [name for name in names if name and not os.path.isabs(name) and ".." not in Path(name).parts]


def _check_place(top: Path, name: str) -> None:
    """Refuse a file whose place is a folder, or is reached through a link.

    Raises:
        OSError: it is.
    """
    place = top / name
    if place.is_dir() and not place.is_symlink():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    for part in place.relative_to(top).parents:
        folder = top / part
        if part != Path() and (folder.is_symlink() or (folder.exists() and not folder.is_dir())):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def open_up(path: str, mode: int) -> None:
    """Give a scratch file or folder the permissions that an ordinary one has."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, mode & ~mask)


def write_synced(path: StrPath, data: bytes) -> None:
    """Write a file and wait until the disk has it; for files in a folder that is moved to its place afterwards."""
    with open(path, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sync_folder(folder: StrPath) -> None:
    """Wait until the disk knows which files a folder holds, where the system can say so."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        opened = os.open(Path(folder), os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
