"""References: what ``sys.getrefcount`` returns for an object with a single holder, for each way of calling it.

The numbers differ between versions of CPython (3.14 borrows what 3.13 counts), so each is measured at import by code
of exactly the same shape as the code that calls it. Where a measurement cannot distinguish an unshared object from a
shared one, its number is 0:
no count is that low, so that everything counts as shared and is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

from opkit.ops.core.types import Values


class _Object:
    """Something to count; like an array's base, an attribute of it is handed out by a getter."""

    __slots__ = ("held",)

    def __init__(self, held: Any = None) -> None:
        self.held = held


def _told_apart(count: Callable[[Any], int]) -> int:
    """Return the count of an object that only the measurement holds; 0 where a second holder does not raise it.

    Args:
        count: measures an object that it makes itself and hands to its argument, a list, where it is to be shared.
    """
    held: list[Any] = []
    alone = count(None)
    return alone if alone < count(held) else 0


def _made(shared: list[Any] | None) -> _Object:
    item = _Object()
    if shared is not None:
        shared.append(item)
    return item


def _of_local(shared: Any) -> int:
    item = _made(shared)
    return getrefcount(item)


def _of_item(shared: Any) -> int:
    def taken(step: Any, items: Values) -> int:
        item = items[0]
        return getrefcount(item)

    items = [_made(shared)]
    return taken(None, items)


def _of_attribute(shared: Any) -> int:
    holder = _Object(_made(shared))
    return getrefcount(holder.held)


def _of_argument(shared: Any) -> int:
    def asked(item: Any, others: tuple[Any, ...]) -> int:
        return getrefcount(item)

    item = _made(shared)
    return asked(item, ())


def _of_temporary(shared: Any) -> int:
    def asked(item: Any) -> int:
        return getrefcount(item)

    return asked(_made(shared))


#: ``item = make(); getrefcount(item)``: a local variable.
OF_LOCAL = _told_apart(_of_local)
#: ``item = items[0]; getrefcount(item)``: an item of a list or tuple of the caller's, held by a local variable too.
OF_ITEM = _told_apart(_of_item)
#: ``getrefcount(holder.attribute)``: what one attribute of one object holds.
OF_ATTRIBUTE = _told_apart(_of_attribute)
#: ``getrefcount(argument)`` where the caller holds the argument in a local variable.
OF_ARGUMENT = _told_apart(_of_argument)
#: ``getrefcount(argument)`` where the caller wrote a call in the argument's place and holds nothing; 0 as well where
#: that is not less than the count of an argument which the caller still holds.
OF_TEMPORARY = _told_apart(_of_temporary) if _of_temporary(None) < _of_argument(None) else 0
