"""Document: a TOML file whose keys know the lines they stand in.

The standard parser gives values without places; they are found by parsing beginnings of the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opkit.errors import Location, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Document"]

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
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"cannot read the configuration: {reason}", where=Location(str(path))) from error
        try:
            self.values: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = _AT.search(str(error))
            line, col = (int(item) for item in found.groups()) if found and found.group(1) else (self._last_line(), 0)
            message = _AT.sub("", str(error)).strip()
            raise UsageError(f"not TOML: {message}", where=Location(str(path), line, col)) from error

    def _last_line(self) -> int:
        return self._text.rstrip("\n").count("\n") + 1

    def table(self, *keys: str) -> Mapping[str, Any] | None:
        """Return the table under a path of keys, None where there is none."""
        found = _value(self.values, keys)
        return found if isinstance(found, Mapping) else None

    def where(self, *keys: str) -> Location:
        """Return the place of a key: the first line of its value, or of the table that it opens."""
        ends_before = first = self._first_line(keys)
        for end, values in self._beginnings(first):
            if _holds(values, keys):
                return Location(str(self.path), ends_before + 1)
            ends_before = end
        return Location(str(self.path))

    def _first_line(self, keys: tuple[str, ...]) -> int:
        """Return how many lines can be left out in front: those before the first header of the table."""
        lines = self._text.split("\n")
        table = keys[:2]
        header = f"[{'.'.join(table)}"
        start = next((number for number, line in enumerate(lines) if line.startswith(header)), 0)
        try:
            rest = tomllib.loads("\n".join(lines[start:]))
        except tomllib.TOMLDecodeError:  # it stands in a text of several lines
            return 0
        return start if _value(rest, table) == _value(self.values, table) else 0

    def _beginnings(self, first: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield (number of lines, values) of each beginning of the text after its first lines that is TOML itself."""
        lines = self._text.split("\n")
        for end in range(first + 1, len(lines) + 1):
            try:
                yield end, tomllib.loads("\n".join(lines[first:end]))
            except tomllib.TOMLDecodeError:  # in the middle of a value of several lines
                continue


_MISSING = object()


def _holds(values: Any, keys: tuple[str, ...]) -> bool:
    return _value(values, keys) is not _MISSING


def _value(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(values, Mapping) or key not in values:
            return _MISSING
        values = values[key]
    return values
