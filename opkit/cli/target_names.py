"""What a shell offers for a TARGET: files and folders, and after ``FILE.py::`` the names that can be checked.

Files are read as text; nothing of theirs is run.
"""

from __future__ import annotations

import glob
import os


def target_begun(args: list[str], incomplete: str) -> list[str]:
    """Return what begins with what is typed.

    Args:
        args: the words before it: bash makes three words of ``FILE.py::Name``.
        incomplete: what is typed of the last word.
    """
    from opkit.project.file_names import names_of

    if args[-1:] == ["::"] and len(args) > 1:
        return [name for name in names_of(args[-2]) if name.startswith(incomplete)]
    if incomplete == "::" and args:
        return list(names_of(args[-1]))
    file, colons, begun = incomplete.partition("::")
    if colons:
        return [f"{file}::{name}" for name in names_of(file) if name.startswith(begun)]
    found = sorted(glob.glob(f"{glob.escape(file)}*"))
    return [
        f"{path}/" if os.path.isdir(path) else path for path in found if os.path.isdir(path) or path.endswith(".py")
    ]
