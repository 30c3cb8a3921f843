"""``paddle.utils``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from opkit.paddle.utils import unique_name
from opkit.shim.missing import guard

__all__ = ["deprecated", "run_check", "try_import", "unique_name"]


def run_check() -> None:
    """Do nothing: opkit has no installation to check beyond its import."""


def try_import(module_name: str, err_msg: str | None = None) -> Any:
    """Import a module by name.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return import_module(module_name)
    except ImportError as error:
        raise ImportError(err_msg or f"{module_name} is not installed: {error}") from error


def deprecated(
    update_to: str = "", since: str = "", reason: str = "", level: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that leaves the function as it is."""
    return lambda function: function


__getattr__ = guard(__name__, globals())
