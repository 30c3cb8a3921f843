"""The bytes of a file, where it is a file and not larger than it may be.

No format is known here.
"""

from __future__ import annotations

import os
import stat

from opkit.errors import OpkitError
from opkit.paths import StrPath

#: Reading never waits: a pipe in the place of a file is noticed, not read.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class FormatError(OpkitError, ValueError):
    """A file does not have the shape that it must have; the message says which part, without the file's name."""


def read_file(path: StrPath, most: int | None = None) -> bytes:
    """Return what a file holds.

    Args:
        path: the file; symlinks are followed.
        most: the largest size in bytes that is read; None for the size of this machine's memory.

    Raises:
        OSError: it does not exist or cannot be read.
        FormatError: it is a pipe, a device or a folder, or larger than ``most``.
    """
    bound = _memory() if most is None else most
    opened = os.open(path, _FLAGS)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"it is {_kind(status.st_mode)}, not a file")
        if status.st_size > bound:
            raise FormatError(f"it has {status.st_size} bytes, more than the {bound} that are read")
        with os.fdopen(opened, "rb", buffering=0, closefd=False) as stream:
            parts = []
            left = bound
            while left and (part := stream.read(min(left, max(status.st_size, 1 << 16)))):
                parts.append(part)
                left -= len(part)
    finally:
        os.close(opened)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return 1 << 36


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
