"""What ``opkit config`` shows: each setting with its value and its place, as lines or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import opkit
from opkit.configuration import Configuration, Setting


def as_lines(configuration: Configuration) -> str:
    """Return a line per setting: the key, its value as it would be written, where it comes from."""
    rows = [
        (name, json.dumps(item.value), str(configuration.where(item) or "default"))
        for name, item in _all(configuration)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {place}" for name, value, place in rows)


def as_json(configuration: Configuration) -> str:
    """Return all settings as one JSON object; "from" is null for a default."""

    def shown(item: Setting) -> dict[str, Any]:
        where = configuration.where(item)
        return {"value": item.value, "from": None if where is None else str(where)}

    content = {
        "schema": 1,
        "opkit": opkit.__version__,
        "file": None if configuration.document is None else str(configuration.document.path),
        "settings": {name: shown(item) for name, item in configuration.settings.items()},
        "overrides": {
            override.pattern: {name: shown(item) for name, item in override.settings.items()}
            for override in configuration.overrides
        },
    }
    return json.dumps(content, indent=2)


def _all(configuration: Configuration) -> Iterator[tuple[str, Setting]]:
    yield from configuration.settings.items()
    for override in configuration.overrides:
        for name, item in override.settings.items():
            yield f"overrides.{override.pattern}.{name}", item
