"""``paddle.utils.unique_name``: names that are unique in the process."""

from __future__ import annotations

from typing import Any

from opkit.shim.missing import guard as _guard
from opkit.static.names import guard_names, switch_names, unique_name

__all__ = ["generate", "guard", "switch"]


def generate(key: str) -> str:
    """Return ``key_N`` with the key's next number."""
    return unique_name(key)


def guard(new_generator: Any = None) -> Any:
    """Start counting anew within a ``with`` block."""
    return guard_names(new_generator)


def switch(new_generator: Any = None) -> Any:
    """Put another counter in force and return the one that was."""
    return switch_names(new_generator)


__getattr__ = _guard(globals())
