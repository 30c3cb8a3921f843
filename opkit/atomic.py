"""Writing files so that each appears complete or not at all, even if the process is killed or the disk fills up.

The caller decides what is written; no format is known here.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["sync_folder", "write_file", "write_synced"]


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, which appears whole or not at all; its folder is made.

    The file gets the permissions that ``open`` would give it.

    Raises:
        OSError: it cannot be written; what was there before is untouched then.
    """
    full = os.path.abspath(path)
    folder = os.path.dirname(full)
    os.makedirs(folder, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=folder, prefix=".opkit-")
    try:
        os.close(handle)
        write_synced(scratch, data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        os.replace(scratch, full)
    except BaseException:
        os.unlink(scratch)
        raise
    sync_folder(folder)


def write_synced(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file and wait until the disk has it; for files in a folder that is moved to its place afterwards."""
    with open(path, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the disk knows which files a folder holds, where the system can say so."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        opened = os.open(Path(folder), os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
