"""Listed: what users give alone or as a list, as a list.

What else a value may be, such as a Tensor of several numbers, is its reader's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def listed(given: Any) -> list[Any]:
    """Return a list or tuple as a new list, and anything else as a list of it alone."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def present(given: Any) -> list[Any]:
    """Return what is given as a list, and nothing where it is left out."""
    return [] if given is None else listed(given)


def each(change: Callable[[Any], Any], given: Any) -> Any:
    """Return what is given changed by a function, each of a list or tuple as a list; None, left out, stays."""
    if isinstance(given, (list, tuple)):
        return [change(item) for item in given]
    return None if given is None else change(given)
