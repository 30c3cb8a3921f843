"""Nested lists, tuples and dicts: flattened, filled again, mapped; values of a dict come in the order of its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.errors import UsageError

__all__ = ["assert_same_structure", "flatten", "is_sequence", "map_structure", "pack_sequence_as", "to_sequence"]


class StructureTypeError(UsageError, TypeError):
    """Two nested structures are of different types (Paddle raises TypeError)."""


def is_sequence(seq: Any) -> bool:
    """Say whether this is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, dict))


def to_sequence(nest: Any) -> Any:
    """Return a list, tuple or dict as it is, anything else in a list."""
    return nest if is_sequence(nest) else [nest]


def _parts(nest: Any) -> list[Any]:
    return [nest[key] for key in sorted(nest)] if isinstance(nest, dict) else list(nest)


def flatten(nest: Any) -> list[Any]:
    """Return everything in a nested structure that is not one itself, in order."""
    if not is_sequence(nest):
        return [nest]
    return [leaf for part in _parts(nest) for leaf in flatten(part)]


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Return a structure of the same form that holds other things.

    Raises:
        UsageError: it holds more or fewer.
    """
    wanted, given = len(flatten(structure)), len(flat_sequence)
    if wanted != given:
        raise UsageError(f"pack_sequence_as: the structure holds {wanted} things, the sequence has {given}")
    left = list(flat_sequence)
    return _filled(structure, left)


def _filled(structure: Any, left: list[Any]) -> Any:
    if not is_sequence(structure):
        return left.pop(0)
    if isinstance(structure, dict):
        found = {key: _filled(structure[key], left) for key in sorted(structure)}
        return type(structure)((key, found[key]) for key in structure)
    items = [_filled(part, left) for part in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """Return the first structure with the function's results; it is called with what stands at one place in each."""
    columns = [flatten(item) for item in structure]
    return pack_sequence_as(structure[0], [func(*row) for row in zip(*columns)])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that two structures have the same form.

    Raises:
        UsageError: one holds more than the other.
        StructureTypeError: types differ, and ``check_types``.
    """
    if is_sequence(nest1) != is_sequence(nest2) or len(flatten(nest1)) != len(flatten(nest2)):
        raise UsageError(f"the structures {nest1!r} and {nest2!r} have different forms")
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise StructureTypeError(f"a {type(nest1).__name__} stands where the other has a {type(nest2).__name__}")
    if isinstance(nest1, dict) and isinstance(nest2, dict) and set(nest1) != set(nest2):
        raise UsageError(f"the structures have the keys {sorted(nest1)} and {sorted(nest2)}")
    for one, other in zip(_parts(nest1), _parts(nest2)):
        assert_same_structure(one, other, check_types)
