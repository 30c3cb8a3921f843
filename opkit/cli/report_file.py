"""Report files: written whole or not at all, with the words for what prevents it.

What is in a report is not known here.
"""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from opkit.atomic import is_fault_of_disk, write_file
from opkit.errors import UsageError


def now() -> str:
    """Return the time as pages show it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def need_folder(path: Path) -> None:
    """Refuse a report whose folder is missing, or that is one.

    Raises:
        UsageError: so it is.
    """
    if path.is_dir():
        raise UsageError(f"cannot write {str(path)!r}: it is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")


def write_report(path: Path, text: str) -> None:
    """Write a report, which appears whole or not at all.

    Raises:
        UsageError: the folder is missing, or nothing may be written there.
        OSError: the disk is full.
    """
    need_folder(path)
    try:
        write_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        if is_fault_of_disk(error):
            raise
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error
