"""Settings: what a user asked of the runtime for one run (``opkit run --show-plan ...``).

Only plain values stand here; the row that acts on a setting reads it. (Profiles, NaN checks and recorders need no
setting: they are observers, ``opkit.ops.core.observers``.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from opkit.record import record


@record
class Settings:
    """Settings of one run.

    Args:
        on_plan: called with the Python source of every plan that the static executor compiles, or None. (The command
            line's ``--show-plan`` puts a function here that prints; nothing below the command line prints.)
        on_compiled: called with every plan (``opkit.static.Plan``) that the static executor compiles, the Values that
            it fetches (None where nothing writes one) and its Python source, or None.
        on_note: called with what a user should know of how a script is run, or None for a warning. (Nothing below the
            command line prints.)
        gpu_as_cpu: a ``gpu`` placement runs on the CPU instead of being refused.
        kernel: "python" or "cpp", where an op directory has kernels in both; "auto" for C++ where there is a compiler.
        sanitize: C++ kernels are built with sanitizers, and run where these end no process of ours.
        threads: CPU devices that a script has which asks for no number of them; each is a thread.
        cluster: whose workers are the devices of jobs on several: "local:N" or a scheduler's address; "" for threads.
    """

    on_plan: Callable[[str], None] | None = None
    on_compiled: Callable[[Any, Sequence[Any], str], None] | None = None
    on_note: Callable[[str], None] | None = None
    gpu_as_cpu: bool = False
    kernel: str = "auto"
    sanitize: bool = False
    threads: int = 1
    cluster: str = ""


_current = Settings()


def current_settings() -> Settings:
    """Return the settings in force in this process."""
    return _current


def note(text: str) -> None:
    """Tell the user how a script is run: as the settings have it, else by a warning."""
    if _current.on_note is not None:
        _current.on_note(text)
    else:
        warnings.warn(text, stacklevel=3)


@contextmanager
def settings(**changes: Any) -> Iterator[Settings]:
    """Change settings within a ``with`` block, for every thread of the process.

    Args:
        changes: fields of Settings by name.

    Example:
        >>> with settings(gpu_as_cpu=True):
        ...     current_settings().gpu_as_cpu
        True
        >>> current_settings().gpu_as_cpu
        False
    """
    global _current
    before = _current
    _current = replace(before, **changes)
    try:
        yield _current
    finally:
        _current = before
