"""``paddle.utils``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from opkit.errors import OpkitError, UsageError
from opkit.ops.core.types import Function
from opkit.paddle.utils import unique_name
from opkit.paddle.version import full_version
from opkit.shim.missing import guard

__all__ = ["deprecated", "require_version", "run_check", "try_import", "unique_name"]


class VersionError(OpkitError):
    """The script asks for another release of Paddle than the one whose names opkit has."""


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Check that a script runs with the release whose names opkit has, Paddle 2.6.2.

    Args:
        min_version: the first release that will do, such as "2.0.0".
        max_version: the last one; left out: any later one.

    Raises:
        TypeError: a version is not a str.
        UsageError: it is not numbers with points between them.
        VersionError: the release is not within the two.
    """
    least = _numbers(min_version)
    most = least if max_version is None else _numbers(max_version)
    own = _numbers(full_version)
    if own < least or (max_version is not None and own > most):
        wanted = f"at least {min_version}" + (f" and at most {max_version}" if max_version else "")
        raise VersionError(f"the script needs Paddle {wanted}, opkit has the names of {full_version}")


def _numbers(version: Any) -> tuple[int, ...]:
    if not isinstance(version, str):
        raise TypeError(f"require_version takes texts such as '2.0.0', got {version!r}")
    parts = version.split(".")
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"require_version: {version!r} is not numbers with points between them")
    return tuple(int(part) for part in (*parts, "0", "0", "0")[:4])


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
) -> Callable[[Function], Function]:
    """Return a decorator that leaves the function as it is."""
    return lambda function: function


__getattr__ = guard(globals())
