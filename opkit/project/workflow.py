"""The workflow that ``opkit new --ci`` writes: op directories built and checked on GitHub.

What the commands in it do is not known here.
"""

from __future__ import annotations

import os
from pathlib import Path

from opkit.atomic import is_fault_of_disk, write_together
from opkit.errors import UsageError
from opkit.project.rendering import rendered
from opkit.version import __version__

_PLACE = ".github/workflows/opkit.yml"


def scaffold_workflow(folder: Path, *, force: bool = False) -> Path:
    """Write ``folder/.github/workflows/opkit.yml`` and return its path.

    Args:
        folder: the root of the repository.
        force: replace a file that exists.

    Raises:
        UsageError: it would be overwritten, or the folder cannot be written; also where a link leads away from it,
            since a repository from elsewhere may hold one.
    """
    path = folder / _PLACE
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} already exists", help="--force replaces it")
    try:
        text = rendered("ci/opkit.yml.jinja", {"version": __version__})
        write_together(folder, path.name, {_PLACE: text.encode()})
    except OSError as error:
        if is_fault_of_disk(error):
            raise
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}", help="choose a folder with --dir") from error
    return path
