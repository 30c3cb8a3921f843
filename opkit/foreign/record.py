"""Record: the fields of a JSON object, each of which must have its type and stay within its bounds.

A message names the place of a field as a path: ``ops[3].inputs[0]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from opkit.errors import unknown
from opkit.foreign.files import FormatError

_DEEPEST = 64
_LONGEST_SHOWN = 60


def read_json(data: bytes) -> Any:
    """Return what a JSON text says, which is in UTF-8, without NaN and infinity, and not nested more than 64 deep.

    Raises:
        FormatError: it is not such a text.
    """
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is not JSON: {type(error).__name__}: {error}") from error
    level = [found]
    for _ in range(_DEEPEST):
        level = [part for item in level for part in _parts(item)]
        if not level:
            return found
    raise FormatError(f"it is JSON that is nested more than {_DEEPEST} deep")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _parts(item: Any) -> Sequence[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else ()


class Record:
    """An object of a JSON text.

    Args:
        data: the object.
        place: what messages call it, "" for the whole text.

    Raises:
        FormatError: it is not an object.
    """

    __slots__ = ("_data", "place")

    def __init__(self, data: Any, place: str = "") -> None:
        self.place = place
        if not isinstance(data, dict):
            _fail(place, "an object", data)
        self._data: Mapping[str, Any] = data

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def at(self, name: str) -> str:
        """Return what messages call a field."""
        return f"{self.place}.{name}" if self.place else name

    def get(self, name: str) -> Any:
        """Return a field of any type.

        Raises:
            FormatError: there is none of that name.
        """
        if name not in self._data:
            said = unknown(f"{self.place or 'the file'} has no field", name, self._data)
            raise FormatError(str(said))
        return self._data[name]

    def text(self, name: str) -> str:
        """Return a text."""
        return as_text(self.get(name), self.at(name))

    def flag(self, name: str) -> bool:
        """Return true or false."""
        found = self.get(name)
        if not isinstance(found, bool):
            _fail(self.at(name), "true or false", found)
        return found

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number between two, both of them allowed."""
        return as_whole(self.get(name), least, most, self.at(name))

    def optional(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number between two, or None."""
        return None if self.get(name) is None else self.whole(name, least, most)

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        found = self.get(name)
        if not isinstance(found, list):
            _fail(self.at(name), "a list", found)
        return found

    def wholes(self, name: str, least: int, most: int) -> tuple[int, ...]:
        """Return whole numbers between two."""
        place = self.at(name)
        return tuple(as_whole(item, least, most, f"{place}[{i}]") for i, item in enumerate(self.items(name)))

    def optionals(self, name: str, least: int, most: int) -> tuple[int | None, ...]:
        """Return whole numbers between two, or None in their places."""
        place = self.at(name)
        return tuple(
            None if item is None else as_whole(item, least, most, f"{place}[{i}]")
            for i, item in enumerate(self.items(name))
        )

    def texts(self, name: str) -> list[str]:
        """Return texts."""
        return [as_text(item, f"{self.at(name)}[{i}]") for i, item in enumerate(self.items(name))]

    def record(self, name: str) -> Record:
        """Return an object."""
        return Record(self.get(name), self.at(name))

    def records(self, name: str) -> list[Record]:
        """Return a list of objects."""
        return [Record(item, f"{self.at(name)}[{i}]") for i, item in enumerate(self.items(name))]


def as_text(item: Any, place: str) -> str:
    """Return a text that can be written as UTF-8."""
    if not isinstance(item, str):
        _fail(place, "a text", item)
    try:
        item.encode("utf-8")
    except UnicodeEncodeError:
        _fail(place, "a text of whole characters", item)
    return item


def as_whole(item: Any, least: int, most: int, place: str) -> int:
    """Return a whole number between two."""
    if type(item) is not int or not least <= item <= most:
        _fail(place, f"a whole number from {least} to {most}", item)
    return item


def _fail(place: str, expected: str, got: Any) -> NoReturn:
    shown = ascii(got) if not isinstance(got, int) or abs(got) < 1 << 64 else "a larger one"
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[: _LONGEST_SHOWN - 3] + "..."
    raise FormatError(f"{place or 'the file'}: expected {expected}, got {shown}")
