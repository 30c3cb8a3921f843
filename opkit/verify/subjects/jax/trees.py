"""Trees of arrays as Python text: what a script needs to put arrays back where a function wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from opkit.ops.core.types import Function
from opkit.verify.subjects.jax.function import trees_known_of


def texts_known_of(name: str) -> dict[tuple[str, int], str]:
    """Return the Python text of the trees that functions of a name were seen to take, by input and number of arrays."""
    return {key: text_of(planted, key[1]) for key, planted in trees_known_of(name).items()}


class _UnnamedError(Exception):
    """Something of a tree has no text."""


def text_of(planted: Function, count: int) -> str:
    """Return the text of a tree whose arrays are ``leaf[0]``, ``leaf[1]`` ...; "" where its classes cannot be named.

    Args:
        planted: makes it of a list of its arrays. Classes of the file itself are taken from ``names``, the names of
            the file; named tuples and dataclasses are made anew from their fields.
        count: how many arrays.
    """
    try:
        return _text(planted([_Place(number) for number in range(count)]))
    except Exception:  # user code: its classes may refuse what stands in for arrays
        return ""


class _Place:
    """Stands for an array."""

    def __init__(self, number: int) -> None:
        self.number = number


def _text(value: Any) -> str:
    if isinstance(value, _Place):
        return f"leaf[{value.number}]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(_text, value)) + "]"
    if type(value) is tuple:
        return "(" + "".join(f"{_text(item)}, " for item in value) + ")"
    return f"{_class(type(value))}({', '.join(f'{key}={_text(item)}' for key, item in _fields(value).items())})"


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value))
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value) if item.init}
    raise _UnnamedError


def _class(kind: type) -> str:
    """Return the text of a class that stands at the top of its module."""
    if "." in kind.__qualname__:
        raise _UnnamedError
    root = kind.__module__.partition(".")[0]
    if root in ("collections", "jax", "numpy"):
        return f"__import__({kind.__module__!r}, fromlist=[{kind.__name__!r}]).{kind.__name__}"
    return f"names[{kind.__name__!r}]"
