"""Names of a framework that opkit does not have: using one is an error that says so and suggests the nearest one.

Each facade module knows its own names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opkit.errors import MissingNameError, unknown

__all__ = ["guard"]


def guard(module: str, names: Iterable[str], *, otherwise: str = "") -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a facade module.

    Args:
        module: what users call the module; ``opkit.`` in front of it is not shown.
        names: the names that it has (its ``__all__`` or its ``globals()``); they are looked at when one is missing.
        otherwise: the help line where none of them is near.

    Raises:
        MissingNameError: (the function returned) always.
    """
    shown = module.removeprefix("opkit.")

    def missing(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        known = [item for item in names if not item.startswith("_")]
        found = unknown("opkit has no", name, known, prefix=f"{shown}.", otherwise=otherwise, limit=3)
        raise found.error(MissingNameError)

    return missing
