"""Scratch: files and folders beside their later place, each held by a lock while its maker lives; the lock of a folder.

A lock ends with its process, however that ends: what nobody holds was left by a run that is dead, and the next run that
writes into the folder removes it. What becomes of scratch files is decided by ``opkit.atomic`` and its callers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from opkit.paths import StrPath

if sys.platform != "win32":
    import fcntl

_PREFIX = ".opkit-"
_NAME = re.compile(r"\.opkit-[a-z0-9_]{8}")
#: Seconds that a save waits for another one in the same folder.
_PATIENCE = 30.0


class Held:
    """A scratch file or folder that this process holds; a context manager.

    Args:
        path: where it is.
        handle: the open file whose lock says that its maker lives.
    """

    __slots__ = ("handle", "path")

    def __init__(self, path: str, handle: int) -> None:
        self.path = path
        self.handle = handle

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of it and remove what is left of it at its first place."""
        if os.path.isdir(self.path) and not os.path.islink(self.path):
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        _close(self.handle)


def scratch_file(folder: StrPath) -> Held:
    """Make an empty file in a folder, which is removed at the end of a ``with`` block if it is still there.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        handle, path = tempfile.mkstemp(dir=folder, prefix=_PREFIX)
        if _is_ours(handle, path):
            return Held(path, handle)
        os.close(handle)


def scratch_folder(folder: StrPath) -> Held:
    """Make an empty folder in a folder, which is removed at the end of a ``with`` block if it is still there.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        path = tempfile.mkdtemp(dir=folder, prefix=_PREFIX)
        try:
            handle = _opened(path)
        except FileNotFoundError:  # another run took it for a dead one's
            continue
        if _is_ours(handle, path):
            return Held(path, handle)
        _close(handle)


def sweep(folder: StrPath) -> None:
    """Remove what dead runs of this user left in a folder; what cannot be removed stays."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
        for path in left:
            with contextlib.suppress(OSError):
                _remove_dead(path)


@contextlib.contextmanager
def folder_lock(folder: StrPath) -> Iterator[None]:
    """Keep other processes' and threads' saves out of a folder for a moment.

    Raises:
        OSError: another process has held the lock for half a minute.
    """
    handle = _opened(folder)
    try:
        end = time.monotonic() + _PATIENCE
        while not _lock(handle):
            if time.monotonic() > end:
                raise OSError(errno.ETIMEDOUT, "another process is saving there and does not finish", str(folder))
            time.sleep(0.002)
        yield
    finally:
        _close(handle)


def _close(handle: int) -> None:
    if handle >= 0:
        os.close(handle)


def is_own(path: StrPath) -> bool:
    """Return whether a file or folder is this user's."""
    return sys.platform == "win32" or os.lstat(path).st_uid == os.geteuid()


def is_scratch(path: StrPath) -> bool:
    """Return whether a path is that of scratch, or leads through it."""
    return any(_NAME.fullmatch(part) for part in Path(path).parts)


def _remove_dead(path: str) -> None:
    if os.path.islink(path) or not is_own(path):
        return
    handle = _opened(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    finally:
        os.close(handle)


def _opened(path: StrPath) -> int:
    """Open a file or folder for its lock; -1 for a folder where the system cannot open one."""
    if sys.platform == "win32":
        return -1
    return os.open(Path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _lock(handle: int) -> bool:
    """Take a lock; say no where another has it. A file system without locks gives it to everybody."""
    if sys.platform == "win32" or handle < 0:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _is_ours(handle: int, path: str) -> bool:
    """Take the lock of something that was just made; say no where another run took it for a dead one's."""
    if not _lock(handle):
        return False
    if handle < 0:
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False
