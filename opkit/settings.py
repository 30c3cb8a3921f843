"""Settings: what a user asked of the runtime for one run (``opkit run --profile ...``).

Only plain values stand here; the row that acts on a setting reads it, nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

__all__ = ["Settings", "current_settings", "settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one run.

    Args:
        show_plan: the static executor shows the Python source of every plan it compiles (on standard error).
        profile: the runtime measures every op, and a table is shown when the run ends.
        gpu_as_cpu: a ``gpu`` placement runs on the CPU instead of being refused.
    """

    show_plan: bool = False
    profile: bool = False
    gpu_as_cpu: bool = False


_current = Settings()


def current_settings() -> Settings:
    """Return the settings in force in this process."""
    return _current


@contextmanager
def settings(**changes: bool) -> Iterator[Settings]:
    """Change settings within a ``with`` block, for every thread of the process.

    Args:
        changes: fields of Settings by name.

    Example:
        >>> with settings(profile=True):
        ...     current_settings().profile
        True
        >>> current_settings().profile
        False
    """
    global _current
    before = _current
    _current = replace(before, **changes)
    try:
        yield _current
    finally:
        _current = before
