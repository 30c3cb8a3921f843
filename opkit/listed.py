"""Listed: what users give alone or as a list, as a list.

What else a value may be, such as a Tensor of several numbers, is its reader's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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


def parts(given: Any, kind: Any) -> Iterator[Any]:
    """Yield what is of a class, or of one of several: what is given itself, or what lists, tuples and dicts hold."""
    if isinstance(given, kind):
        yield given
    elif isinstance(given, (list, tuple, Mapping)):
        for item in given.values() if isinstance(given, Mapping) else given:
            yield from parts(item, kind)
