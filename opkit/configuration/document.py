"""Document: a TOML file whose keys know the lines they stand in.

The standard parser gives values without places; they are found by parsing beginnings of the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from opkit.errors import Location, UsageError
from opkit.foreign import FormatError, read_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Bytes of the largest file, depth of its values, and characters parsed to find a line: far beyond any real project's.
_LARGEST, _DEEPEST, _MOST_PARSED = 1 << 20, 64, 1 << 22
_AT = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")


class Document:
    """A TOML file.

    Args:
        path: the file, as it is shown.

    Raises:
        UsageError: it cannot be read, or is not TOML; with the line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = read_file(path, _LARGEST).decode("utf-8").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError, FormatError) as error:
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None)
            raise UsageError(f"cannot read the configuration: {reason or error}", where=Location(str(path))) from error
        try:
            self.values: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = _AT.search(str(error))
            last = self._text.rstrip("\n").count("\n") + 1
            line, col = map(int, found.groups()) if found and found.group(1) else (last, 0)
            message = _AT.sub("", str(error)).strip()
            raise UsageError(f"not TOML: {message}", where=Location(str(path), line, col)) from error
        except ValueError as error:  # a number of thousands of digits
            raise UsageError(f"cannot read the configuration: {error}", where=Location(str(path))) from error
        except RecursionError:
            self._refuse_depth()
        if _is_deep(self.values):
            self._refuse_depth()

    def _refuse_depth(self) -> NoReturn:
        message = f"cannot read the configuration: it is nested more than {_DEEPEST} deep"
        raise UsageError(message, where=Location(str(self.path)))

    def table(self, *keys: str) -> Mapping[str, Any] | None:
        """Return the table under a path of keys, None where there is none."""
        found = _value(self.values, keys)
        return found if isinstance(found, Mapping) else None

    def where(self, *keys: str) -> Location:
        """Return the place of a key: the first line of its value, or of the table that it opens.

        The place has no line where finding it would take seconds.
        """
        lines = self._text.split("\n")
        first = self._first_line(keys)
        most = len(self._text) + _MOST_PARSED  # characters that are left to be parsed
        before, end = first, len(lines)  # the beginning up to the one lacks the key, that up to the other holds it
        while True:
            middle = (before + 1 + end) // 2
            for at in (*range(middle, end), *range(middle - 1, before, -1)):
                text = "\n".join(lines[first:at])
                if (most := most - len(text)) < 0:
                    return Location(str(self.path))
                values = _parsed(text)
                if values is not None:
                    before, end = (before, at) if _holds(values, keys) else (at, end)
                    break
            else:  # what is between them is one value
                return Location(str(self.path), before + 1)

    def _first_line(self, keys: tuple[str, ...]) -> int:
        """Return how many lines can be left out in front: those before the first header of the table."""
        lines = self._text.split("\n")
        table = keys[:2]
        header = f"[{'.'.join(table)}"
        start = next((number for number, line in enumerate(lines) if line.startswith(header)), 0)
        rest = _parsed("\n".join(lines[start:]))  # None: the header stands in a text of several lines
        return start if rest is not None and _value(rest, table) == _value(self.values, table) else 0


def _parsed(text: str) -> dict[str, Any] | None:
    """Return the values of a text; None where it is not TOML, such as in the middle of a value of several lines."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    return values


def _is_deep(values: Mapping[str, Any]) -> bool:
    level: list[Any] = [values]
    for _ in range(_DEEPEST):
        level = [part for item in level for part in _parts(item)]
    return bool(level)


def _parts(item: Any) -> Sequence[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else ()


_MISSING = object()


def _holds(values: Any, keys: tuple[str, ...]) -> bool:
    return _value(values, keys) is not _MISSING


def _value(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return _MISSING
        values = values[key]
    return values
