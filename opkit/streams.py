"""The standard streams as the process got them: closed ones are filled, so that no file takes their place.

Nothing is written here.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO


def fill_closed() -> None:
    """Open what stands for each standard stream that was closed when the process started.

    Else the next file that is opened would be taken for it, and get what is printed. Writing to a filled standard
    output is an OSError, as writing to the closed one would have been; what is for standard error is dropped.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            _put_in_place(os.open(os.devnull, flags), number)
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)


def _put_in_place(opened: int, number: int) -> None:
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def _text(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def escape_unprintable() -> None:
    """Let standard output show what its encoding cannot hold as escapes, as standard error does anyway.

    Where the locale is C, which says nothing of encodings, it is UTF-8.
    """
    reconfigure, errors = getattr(sys.stdout, "reconfigure", None), getattr(sys.stdout, "errors", "")
    if reconfigure is not None and errors in ("strict", "surrogateescape"):
        reconfigure(encoding="utf-8" if errors == "surrogateescape" else None, errors="backslashreplace")
