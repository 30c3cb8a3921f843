"""Options of a gradcheck run: what the checker tries, and how its workers are run.

Where they come from (flags, keyword arguments) is the caller's business.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from opkit import checker
from opkit.errors import UsageError, unknown

__all__ = ["RunOptions"]

_CHECKER = tuple(item.name for item in fields(checker.Options))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings of one run.

    Args:
        check: what the checker tries, and under which seed.
        jobs: how many ops at once; 0 for one per core. Results and their order do not depend on it.
        timeout: seconds that one op may take; 0 for no limit.
        memory: mebibytes that one op may use; 0 for no limit.
        isolate: each op in a process of its own. Only functions of this process can do without.
        replay: run former failures of the same op first, and remember the ones found now.
        cache: where failures are remembered; "" for the user's cache folder.
        shows_output: what the user's files print goes to standard error as it is printed.
        command: "gradcheck", or "sbp": what is checked of each op.
    """

    check: checker.Options = field(default_factory=checker.Options)
    jobs: int = 0
    timeout: float = 60.0
    memory: int = 4096
    isolate: bool = True
    replay: bool = True
    cache: str = ""
    shows_output: bool = False
    command: str = "gradcheck"

    def __post_init__(self) -> None:
        for name in ("jobs", "timeout", "memory"):
            value = getattr(self, name)
            if value < 0:
                raise UsageError(f"{name} must not be negative, got {value}")

    @property
    def width(self) -> int:
        """How many ops are checked at once."""
        return self.jobs or _cores()

    @property
    def limits(self) -> str:
        """The limits in words, for messages."""
        time = f"{self.timeout:g} s" if self.timeout else "no time limit"
        return f"{time}, {self.memory} MiB" if self.memory else f"{time}, no memory limit"

    @staticmethod
    def of(options: Mapping[str, Any]) -> RunOptions:
        """Return the options that flat keyword arguments mean; the checker's and the run's names do not overlap.

        Raises:
            UsageError: no option has such a name; the nearest is named.
        """
        own = {item.name for item in fields(RunOptions)} - {"check"}
        for name in options:
            if name not in own and name not in _CHECKER:
                command = options.get("command", "gradcheck")
                raise unknown(f"{command} has no option", name, (*own, *_CHECKER)).error(UsageError)
        mine = {name: value for name, value in options.items() if name in own}
        its = {name: value for name, value in options.items() if name in _CHECKER}
        return RunOptions(checker.Options(**its), **mine)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
