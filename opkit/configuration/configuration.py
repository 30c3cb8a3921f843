"""Configuration: the settings that hold in a folder, and where each comes from.

Flags of a command line are not known here; they win over what is found here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opkit.configuration.document import Document
from opkit.configuration.key import KEYS
from opkit.errors import Location, UsageError, did_you_mean, unknown
from opkit.project.directory import near_files
from opkit.record import record

_FILE = "pyproject.toml"
_TABLE = ("tool", "opkit")
_OVERRIDES = "overrides"


@record
class Setting:
    """The value of a key.

    Args:
        name: the key.
        value: what holds.
        keys: the path of the key in the file; () for a default.
    """

    name: str
    value: Any
    keys: tuple[str, ...] = ()


@record
class Override:
    """What holds for some ops alone.

    Args:
        pattern: the name of an op or of its directory; ``*`` stands for any text.
        settings: {key: setting}.
    """

    pattern: str
    settings: Mapping[str, Setting]


@record
class Configuration:
    """All settings that hold in a folder.

    Args:
        settings: {key: setting}, every key.
        overrides: for some ops alone, in the order of the file.
        document: where the settings that are not defaults stand, None where all are defaults.
    """

    settings: Mapping[str, Setting]
    overrides: tuple[Override, ...] = ()
    document: Document | None = None

    def value(self, name: str) -> Any:
        """Return what holds for a key."""
        return self.settings[name].value

    def paths(self, given: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the paths to work on: the given ones, else the configured ones in the folder that sets them.

        Raises:
            UsageError: a configured one, which is no FILE::NAME, is not there; with its line.
        """
        is_here = self.document is not None and len(self.document.path.parts) == 1
        if (found := tuple(given)) or not is_here:
            return found
        for path in self.value("paths"):
            if "::" not in path and not os.path.lexists(path):
                where = self.where(self.settings["paths"])
                near = did_you_mean(near_files(path)[:1])
                raise UsageError(f"tool.opkit.paths: no such file or folder: {path!r}", where=where, help=near)
        return tuple(self.value("paths"))

    def options(self, family: str = "GC", given: Collection[str] = ()) -> dict[str, Any]:
        """Return what is set of the options of a check, by name, and under "overrides" what is set of single ops.

        Args:
            family: how the codes begin that the command knows; others are left out of "select" and "ignore".
            given: options that flags gave, which win: they are left out, of overrides too.
        """
        found = {name: item.value for name, item in self.settings.items() if item.keys}
        return {
            **_options(found, family, given),
            "overrides": {
                override.pattern: _options(
                    {name: item.value for name, item in override.settings.items()}, family, given
                )
                for override in self.overrides
            },
        }

    def where(self, setting: Setting) -> Location | None:
        """Return the place of a setting, None for a default."""
        if self.document is None or not setting.keys:
            return None
        return self.document.where(*setting.keys)


def _options(values: Mapping[str, Any], family: str, given: Collection[str]) -> dict[str, Any]:
    found = {name: value for name, value in values.items() if name not in ("paths", "reports", *given)}
    for name in {"select", "ignore"} & set(found):
        found[name] = frozenset(code for code in found[name] if code.startswith(family))
    return found


def read_configuration(folder: Path) -> Configuration:
    """Return the configuration of a folder: that of the nearest pyproject.toml, there or above, with a [tool.opkit].

    Args:
        folder: where the command runs.

    Raises:
        UsageError: the file cannot be read, or a key or a value in it cannot be used; with file and line.
    """
    defaults = {name: Setting(name, key.default) for name, key in KEYS.items()}
    document = _nearest(folder)
    if document is None:
        return Configuration(defaults)
    table = document.table(*_TABLE) or {}
    _refuse_unknown(document, table, (*KEYS, _OVERRIDES), _TABLE)
    found = {name: _setting(document, name, table[name], _TABLE) for name in table if name != _OVERRIDES}
    return Configuration({**defaults, **found}, tuple(_overrides(document, table)), document)


def _nearest(folder: Path) -> Document | None:
    """Return the document to use; its path is relative to the folder where it stands in it."""
    here = folder.absolute()
    for place in (here, *here.parents):
        if (place / _FILE).is_file():
            document = Document(Path(_FILE) if place == here == Path.cwd() else place / _FILE)
            if isinstance(tool := document.values.get("tool"), Mapping) and "opkit" in tool:
                if document.table(*_TABLE) is None:
                    raise UsageError("tool.opkit is not a table", where=document.where(*_TABLE))
                return document
    return None


def _overrides(document: Document, table: Mapping[str, Any]) -> Iterator[Override]:
    keys = (*_TABLE, _OVERRIDES)
    overrides = table.get(_OVERRIDES, {})
    if not isinstance(overrides, Mapping):
        raise UsageError(f"{'.'.join(keys)} is not a table", where=document.where(*keys))
    per_op = [name for name, key in KEYS.items() if key.is_per_op]
    for pattern, given in overrides.items():
        path = (*keys, pattern)
        if not isinstance(given, Mapping):
            raise UsageError(
                f"{'.'.join(path)} is not a table",
                where=document.where(*path),
                help=f"[{'.'.join(keys)}.NAME] holds the settings of the op NAME",
            )
        _refuse_unknown(document, given, per_op, path)
        yield Override(pattern, {name: _setting(document, name, value, path) for name, value in given.items()})


def _refuse_unknown(
    document: Document, table: Mapping[str, Any], known: tuple[str, ...] | list[str], path: tuple[str, ...]
) -> None:
    for name in table:
        if name not in known:
            where = document.where(*path, name)
            raise unknown(f"[{'.'.join(path)}] has no key", name, known, has="it has").error(UsageError, where)


def _setting(document: Document, name: str, value: Any, path: tuple[str, ...]) -> Setting:
    key, keys = KEYS[name], (*path, name)
    try:
        return Setting(name, key.reads(value), keys)
    except UsageError as error:
        message, help_line = f"{'.'.join(keys)}: {error.message}", error.help
    except ValueError:
        message, help_line = f"{'.'.join(keys)} must be {key.expects}, got {_shown(value)}", ""
    raise UsageError(message, where=document.where(*keys), help=help_line)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
