"""Raised: what a user's function raised, made safe to look at.

An exception's text is user code too: it may raise, exit, or be no text; its causes may go round in a circle.
"""

from __future__ import annotations


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
