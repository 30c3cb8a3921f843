"""Nested lists, tuples and dicts: flattened, filled again, mapped; values of a dict come in the order of its keys."""

from __future__ import annotations

from typing import Any


def is_sequence(seq: Any) -> bool:
    """Say whether this is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, dict))


def _parts(nest: Any) -> list[Any]:
    return [nest[key] for key in sorted(nest)] if isinstance(nest, dict) else list(nest)


def flatten(nest: Any) -> list[Any]:
    """Return everything in a nested structure that is not one itself, in order."""
    if not is_sequence(nest):
        return [nest]
    return [leaf for part in _parts(nest) for leaf in flatten(part)]


def _filled(structure: Any, left: list[Any]) -> Any:
    if not is_sequence(structure):
        return left.pop(0)
    if isinstance(structure, dict):
        found = {key: _filled(structure[key], left) for key in sorted(structure)}
        return type(structure)((key, found[key]) for key in structure)
    items = [_filled(part, left) for part in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
