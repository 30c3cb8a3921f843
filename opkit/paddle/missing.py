"""Names of Paddle that opkit does not have: an error that says so and offers the nearest name that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.errors import MissingNameError, unknown

__all__ = ["guard"]


def guard(module: str, names: dict[str, Any]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a facade module.

    Args:
        module: the module's ``__name__``.
        names: its ``globals()``.
    """
    shown = module.removeprefix("opkit.")

    def missing(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        known = [item for item in names if not item.startswith("_")]
        raise unknown("opkit has no", name, known, prefix=f"{shown}.", limit=3).error(MissingNameError)

    return missing
