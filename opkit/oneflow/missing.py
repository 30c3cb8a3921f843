"""Names of a OneFlow module that opkit does not have: an error that says so and offers the nearest name that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opkit.errors import MissingNameError, unknown

__all__ = ["guard"]


def guard(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module of the OneFlow surface.

    Args:
        module: its ``__name__``.
        names: its ``__all__``.
    """
    shown = "flow" + module.removeprefix("opkit.oneflow")

    def missing(name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise unknown("opkit has no", name, names, prefix=f"{shown}.", limit=3).error(MissingNameError)

    return missing
