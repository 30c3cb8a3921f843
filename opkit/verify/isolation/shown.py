"""Shown: a path as its user would write it, whatever user code makes the working directory of this process.

Which paths are shown is not decided here.
"""

from __future__ import annotations

import os

from opkit.paths import StrPath

_base: list[str] = []


def show_paths_from(folder: str) -> None:
    """Show paths relative to a folder from now on, whatever user code makes the working directory of this process."""
    _base[:] = [folder]


def shown_path(path: StrPath) -> str:
    """Return a path as a user would write it: relative to the working directory where it lies beneath it."""
    here = _base[0] if _base else os.getcwd()
    absolute = os.path.abspath(os.path.join(here, path))
    return os.path.relpath(absolute, here) if absolute.startswith(here.rstrip(os.sep) + os.sep) else absolute
