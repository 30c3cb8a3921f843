"""Places: where a user's function or class was written, as findings show it."""

from __future__ import annotations

import inspect
import linecache
from types import CodeType
from typing import Any

from opkit.errors import Location
from opkit.verify.isolation.blame import shown_path


def location_of(function: Any) -> Location | None:
    """Return where a function or a class was written, None where that is not known."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is not None:
        return Location(shown_path(code.co_filename), _def_line(code), function=function.__name__)
    try:
        _, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
    except (TypeError, OSError):
        return None
    return Location(shown_path(file), line, function=getattr(function, "__name__", "")) if file else None


def _def_line(code: CodeType) -> int:
    """Return the line of a function's ``def``, beneath its decorators."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return line
