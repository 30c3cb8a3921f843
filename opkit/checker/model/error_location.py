"""Error location: the line of a user's file at which an exception was raised.

Tells user code from opkit's, numpy's and Python's own by their folders; nothing is read.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np

from opkit.errors import KernelError, Location

_OURS = tuple(
    os.path.realpath(path) + os.sep
    for path in (
        Path(__file__).parents[2],
        Path(np.__file__).parent,
        sysconfig.get_path("stdlib"),
    )
)
#: The folders of installed packages, of whichever environment they are.
_INSTALLED = {"site-packages", "dist-packages"}
#: The checker's folder, and numpy's.
_HERE, _NUMPY = (os.path.dirname(os.path.abspath(file)) + os.sep for file in (str(Path(__file__).parent), np.__file__))


def raised_at(error: BaseException | None, known: Location | None = None) -> Location | None:
    """Return the innermost line of user code in an exception's traceback, else the place that the error itself names.

    Args:
        error: what was raised.
        known: where the function starts, for an error that has no place; a file that it names is shown the same way.
    """
    if error is None:
        return known
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = frame.filename
        real = os.path.realpath(file)
        if file.startswith("<") or real.startswith(_OURS) or _INSTALLED.intersection(real.split(os.sep)):
            continue
        if known is not None and os.path.realpath(known.file) == os.path.realpath(file):
            file = known.file
        return Location(file, frame.lineno or 0, function=frame.name)
    own = error.where if isinstance(error, KernelError) else None
    if own is None or known is None or os.path.realpath(known.file) != os.path.realpath(own.file):
        return own or known
    return replace(own, file=known.file)


def is_users(error: BaseException) -> bool:
    """Return whether an exception came out of user code, and not of the checker's own lines or numpy called by them."""
    if isinstance(error, KernelError):
        return True
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = max((index for index, file in enumerate(files) if file.startswith(_HERE)), default=-1)
    return any(not file.startswith(_NUMPY) for file in files[own + 1 :])
