"""Source location: where a user's function or class was written, as findings show it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from opkit.errors import Location, def_line
from opkit.verify.isolation.shown import shown_path


def location_of(function: Any) -> Location | None:
    """Return where a function or a class was written, None where that is not known."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is not None:
        return Location(shown_path(code.co_filename), def_line(code), function=function.__name__)
    try:
        _, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
    except (TypeError, OSError):
        return None
    return Location(shown_path(file), line, function=getattr(function, "__name__", "")) if file else None


def method_at(owner: type, name: str) -> Location | None:
    """Return where a method of a class was written, None where it has none or that is not known."""
    found = location_of(getattr(owner, name)) if hasattr(owner, name) else None
    return found and replace(found, function=f"{owner.__name__}.{name}")


def shown(where: Location) -> Location:
    """Return a place with its file as findings show it."""
    return replace(where, file=shown_path(where.file))
