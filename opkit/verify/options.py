"""Options of a gradcheck run: what the checker tries, and how its workers are run.

Where they come from (flags, keyword arguments) is the caller's business.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from opkit import checker
from opkit.diagnostics import codes
from opkit.errors import UsageError, unknown
from opkit.record import record

#: How torch and JAX name a device: a kind, and the number among those of its kind.
_DEVICE = re.compile(r"[A-Za-z_]+(:[0-9]+)?")

#: Share of --timeout after which no case is begun: what is left is for the last one.
_CLOCK_SHARE = 0.85
#: Mebibytes without which no op of numpy can be loaded and checked.
_LEAST_MEMORY = 16
_CHECKER = tuple(item.name for item in fields(checker.Options))


class NamedError(UsageError):
    """What an option or a target names is not there: a device, an input, a function."""


class NoGradientError(UsageError):
    """A function has no gradient to check: no backward, no rule."""


@record
class RunOptions:
    """Settings of one run.

    Args:
        check: what the checker tries, and under which seed.
        jobs: how many ops at once; 0 for one per core. Results and their order do not depend on it.
        timeout: seconds that one op may take; 0 for no limit.
        memory: mebibytes that one op may use; 0 for no limit.
        isolate: each op in a process of its own. Only functions of this process can do without.
        replay: run former failures of the same op too, and remember the ones found now.
        cache: where failures are remembered; "" for the user's cache folder.
        shows_output: what the user's files print goes to standard error as it is printed.
        command: "gradcheck", or "sbp": what is checked of each op.
        cluster: whose workers check op directories: "local:N" or a scheduler's address; "" for processes here.
        device: where functions of torch and JAX run: a framework's name for it, such as "cuda" or "cuda:1"; "" for the
            CPU, or where a run or the inputs given were.
        kernel: "python" or "cpp": which kernels of op directories that have both are checked; "auto" for both.
        sanitize: C++ kernels run with sanitizers.
        overrides: options of single ops, by the name of the op or of its directory; ``*`` stands for any text. The
            last one that names an option wins.
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
    cluster: str = ""
    device: str = ""
    kernel: str = "auto"
    sanitize: bool = False
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("jobs", "timeout", "memory"):
            value = getattr(self, name)
            if not value >= 0:  # a NaN is refused too
                raise UsageError(f"{name} must not be negative, got {value}")
        if 0 < self.memory < _LEAST_MEMORY:
            raise UsageError(f"memory must be {_LEAST_MEMORY} (MiB) at least, or 0 for no limit, got {self.memory}")
        if self.device and not _DEVICE.fullmatch(self.device):
            raise UsageError(
                f"{self.device!r} does not name a device", help="name it as the framework does: cpu, cuda, cuda:1, mps"
            )

    @property
    def width(self) -> int:
        """How many ops are checked at once."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return self.jobs or cores or 1

    @property
    def longest(self) -> float:
        """The longest time limit that any op has; 0 where one has none."""
        limits = [self.timeout, *(given["timeout"] for given in self.overrides.values() if "timeout" in given)]
        return 0.0 if 0 in limits else max(limits)

    @property
    def limits(self) -> str:
        """The limits in words, for messages."""
        time = f"{self.timeout:g} s" if self.timeout else "no time limit"
        return f"{time}, {self.memory} MiB" if self.memory else f"{time}, no memory limit"

    def for_op(self, op: str, directory: str | None) -> RunOptions:
        """Return the options of one op: these, with what ``overrides`` say of it.

        The checker's own budget is kept well below the time limit, so that a slow op is reported, not killed.

        Args:
            op: the op's name, such as ``my_relu_forward`` or ``layers.py::Cube``.
            directory: its op directory, None where it has none.
        """
        changes: dict[str, Any] = {}
        for pattern in self.overriding(op, directory):
            changes.update(self.overrides[pattern])
        its = {name: changes.pop(name) for name in list(changes) if name in _CHECKER}
        chosen = replace(self, check=replace(self.check, **its), **changes)
        return chosen.within(chosen.timeout)

    def overriding(self, op: str, directory: str | None) -> list[str]:
        """Return the patterns of ``overrides`` that an op's name matches, or its directory's."""
        names = (op, Path(directory).resolve().name) if directory is not None else (op,)
        return [pattern for pattern in self.overrides if any(fnmatchcase(name, pattern) for name in names)]

    def within(self, timeout: float) -> RunOptions:
        """Return the options of an op that has so many seconds; 0 or infinity for no limit."""
        if not timeout or timeout == math.inf:
            return self
        seconds, clock = min(self.check.seconds, timeout / 3), _CLOCK_SHARE * timeout
        return replace(self, timeout=timeout, check=replace(self.check, seconds=seconds, clock=clock))

    @staticmethod
    def of(options: Mapping[str, Any]) -> RunOptions:
        """Return the options that flat keyword arguments mean; the checker's and the run's names do not overlap.

        Raises:
            UsageError: no option, or no check, has such a name; the nearest is named.
        """
        for name in options:
            if name in ("surrogate", "tolerance", "allow"):
                said = f"{name.upper()} is declared beside a class or in a cases file"
                raise UsageError(f"gradcheck has no option {name!r}", help=f"{said}; a pair of functions has none")
            if name not in OPTIONS:
                what = f"{options.get('command', 'gradcheck')} has no option"
                raise unknown(what, name, (*OPTIONS, "inputs", "cases", "forward", "backward")).error(UsageError)
        mine = dict(options)
        command = mine.get("command", "gradcheck")
        mine |= {name: _codes(name, mine[name], command) for name in ("select", "ignore") if name in mine}
        its = {name: mine.pop(name) for name in options if name in _CHECKER}
        return RunOptions(checker.Options(**its), **mine)


def _codes(option: str, given: str | Iterable[str], command: str) -> frozenset[str]:
    """Return codes given one by one or, in a string, between commas; each is one of a check of the command."""
    parts = given.split(",") if isinstance(given, str) else given
    found = frozenset(part.strip().upper() for part in parts if part.strip())
    if not found:
        return found
    family = "SBP" if command == "sbp" else "GC"
    known = [code for code in codes() if code.startswith(family)]
    for code in sorted(found.difference(known)):
        tail = f" ('opkit explain {family}' lists all)"
        raise unknown(f"{option}: {command} has no check", code, known, tail=tail, limit=3).error(UsageError)
    return found


#: The names of all options of a run.
OPTIONS = (*(item.name for item in fields(RunOptions) if item.name != "check"), *_CHECKER)
