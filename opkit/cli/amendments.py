"""What ``opkit build`` shows and, with ``--fix``, writes of what definitions lack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from opkit import project  # as a whole: what amends is imported only where something is lacking
from opkit.atomic import is_fault_of_disk, write_together
from opkit.cli.console import hint, styled, uses_colour, warn
from opkit.errors import UsageError

if TYPE_CHECKING:
    from opkit.project import LoadedOps, OpDirectory

_STYLES = {"+": "good", "-": "error", "@": "note"}


def write_amendments(directories: Iterable[OpDirectory]) -> None:
    """Write what definitions lack, and say what it is.

    Raises:
        UsageError: a definition cannot be written, or is a link: a directory from elsewhere may hold one that leads
            to any file.
    """
    for directory in directories:
        amendment = project.amendment_of(directory)
        if amendment is None:
            continue
        if directory.spec.is_symlink():
            raise UsageError(
                f"--fix does not write {os.fspath(directory.spec)!r}: it is a link to {os.readlink(directory.spec)!r}",
                help="run it on the folder that holds the file",
            )
        name = directory.spec.name
        try:
            write_together(directory.path, name, {name: amendment.after.encode("utf-8")})
        except OSError as error:
            if is_fault_of_disk(error):
                raise
            raise UsageError(f"--fix cannot write {os.fspath(directory.spec)!r}: {error.strerror}") from error
        for line in amendment.additions:
            warn(f"fixed {directory.spec}: {line}")


def show_amendments(loaded: Iterable[LoadedOps]) -> None:
    """Show the difference that ``--fix`` would write, of directories that are not complete."""
    for item in loaded:
        amendment = project.amendment_of(item.directory) if item.diagnostics or not item.result.grads else None
        if amendment is not None:
            is_coloured = uses_colour(sys.stderr)
            lines = (styled(line, _STYLES.get(line[:1], ""), is_coloured) for line in amendment.diff().splitlines())
            hint(f"opkit build --fix {item.directory.path} would write:\n" + "\n".join(lines) + "\n")
