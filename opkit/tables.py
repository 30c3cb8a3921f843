"""Tables: data that a module states as text, a row a line, as the values that it works with.

What a column means is its reader's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Value = TypeVar("_Value")


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text.

    >>> words("sin cos")
    ('sin', 'cos')
    """
    return tuple(text.split())


def rows(text: str, columns: int) -> list[list[str]]:
    """Return the rows of a table whose columns are parted by blanks; the last column is the rest of its line."""
    return [line.split(maxsplit=columns - 1) for line in text.strip().splitlines()]


def pairs(text: str) -> dict[str, str]:
    """Return a table of two words a line, or of pairs of words one behind the other, as a dict.

    >>> pairs("ln log  fabs abs")
    {'ln': 'log', 'fabs': 'abs'}
    """
    parts = text.split()
    return dict(zip(parts[::2], parts[1::2], strict=True))


def by_name(groups: Mapping[_Value, str]) -> dict[str, _Value]:
    """Return name -> value, given each value with its names.

    >>> by_name({1: "one uno", 2: "two"})
    {'one': 1, 'uno': 1, 'two': 2}
    """
    return {name: value for value, names in groups.items() for name in names.split()}
