"""Raised: what a user's function raised, made safe to look at.

An exception's text is user code too: it may raise, exit, or be no text; its causes may go round in a circle.

Error location: the line of a user's file at which an exception was raised.

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


def readable(error: Exception) -> Exception:
    """Return the exception itself where its text can be read, else one of the same name that says why not.

    A circle among its causes is opened.
    """
    _open_circle(error)
    why = _unreadable(error)
    if why is None:
        return error
    made: Exception = type(type(error).__name__, (Exception,), {})(f"its text cannot be read ({why})")
    made.__suppress_context__ = True
    return made.with_traceback(error.__traceback__)


def is_write(error: BaseException | None) -> bool:
    """Return whether an exception comes from writing to a read-only array."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        text = words_of(error).lower()
        if any(words in text for words in ("read-only", "read only", "not writeable", "not writable")):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def words_of(error: BaseException) -> str:
    """Return an exception's name and text, whatever its class does."""
    why = _unreadable(error)
    if why is not None:
        return f"{type(error).__name__} (no text: {why})"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _unreadable(error: BaseException) -> str | None:
    """Return why the text of an exception cannot be read, None where it can."""
    try:
        str(error)
        repr(error)
    except (Exception, SystemExit, KeyboardInterrupt) as other:
        return f"{type(other).__name__} was raised by its __str__ or __repr__"
    return None


def _open_circle(error: BaseException) -> None:
    seen = {id(error)}
    at: BaseException = error
    while True:
        following = at.__cause__ or at.__context__
        if following is None:
            return
        if id(following) in seen:
            at.__cause__ = at.__context__ = None
            return
        seen.add(id(following))
        at = following


OPKIT, *_OTHERS = (
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


def is_of_user(file: str) -> bool:
    """Return whether a file is the user's: not opkit's, numpy's or Python's, nor that of an installed package."""
    real = os.path.realpath(file)
    return not (file.startswith("<") or real.startswith((OPKIT, *_OTHERS)) or _INSTALLED & {*real.split(os.sep)})


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
        if not is_of_user(file):
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
