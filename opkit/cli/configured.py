"""Configured: what a command works with once its flags and the configuration are put together.

Flags win. What the keys may hold is the configuration's own business.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opkit.configuration import KEYS, read_configuration
from opkit.record import record

if TYPE_CHECKING:
    import typer

#: What a command calls a key, where it is not the key's name.
_FLAGS = {"reports": "report"}


@record
class Configured:
    """What the configuration says beside the flags.

    Args:
        targets: what to work on.
        options: {option: value}, and "overrides" of single ops.
        reports: reports to write where no flag names one.
    """

    targets: tuple[str, ...]
    options: dict[str, Any]
    reports: tuple[str, ...]


def configured(flags: Collection[str], targets: Sequence[str], family: str) -> Configured:
    """Return what the configuration of the working folder says beside a command's flags.

    Args:
        flags: the names of those that were given.
        targets: the command's.
        family: how the codes begin that the command knows.

    Raises:
        UsageError: the configuration cannot be used.
    """
    found = read_configuration(Path.cwd())
    given = {name for name in KEYS if _FLAGS.get(name, name) in flags}
    return Configured(found.paths(targets), found.options(family, given), found.value("reports"))


def given_in(context: typer.Context) -> set[str]:
    """Return the names of the flags that a command was given."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}


def paths_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that a command works on: the given ones, else the configured ones.

    Raises:
        UsageError: the configuration cannot be used.
    """
    return read_configuration(Path.cwd()).paths(given)
