"""Leaves: the single values among arguments by name, with their places in lists, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opkit.checker.model.evaluate import InputLeaf


def leaves_in(values: Mapping[str, Any]) -> Iterator[tuple[InputLeaf, Any]]:
    """Yield each value by name, and each of a list, with its place; what is left out has none."""
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield from ((InputLeaf(name, index), item) for index, item in enumerate(value))
        elif value is not None:
            yield InputLeaf(name), value


def nested(found: Mapping[InputLeaf, Any]) -> dict[str, Any]:
    """Return values by name, those of a list as a list: the reverse of ``leaves_in``."""
    values: dict[str, Any] = {}
    for leaf, item in found.items():
        values[leaf.name] = item if leaf.index is None else [*values.get(leaf.name, ()), item]
    return values
