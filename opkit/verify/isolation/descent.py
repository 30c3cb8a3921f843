"""Descent: what a process has started, and what that has started, as Linux shows it; all of it can be ended.

Where the system does not show it, nothing is found here, and process groups are what is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection

_DIE_WITH_PARENT = 1
_ADOPT_ORPHANS = 36
#: Rounds and pauses of ending orphans: each round ends what the one before left without a parent.
_ROUNDS = 200
_PAUSE = 0.001
#: Fields of /proc/PID/stat after the name: state, parent.
_STATE, _PARENT = 0, 1


def _control(option: int, value: int) -> bool:
    """Call prctl; say whether it worked."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    return False


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; say whether the system can do that."""
    return _control(_ADOPT_ORPHANS, 1)


def die_with_parent() -> None:
    """Ask to be killed when the process that forked this one ends."""
    _control(_DIE_WITH_PARENT, signal.SIGKILL)


def _parents() -> dict[int, int]:
    """Return {process: its parent}, those that ended and were not reaped included; {} where the system shows none."""
    found: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for entry in os.listdir("/proc"):
            fields = _stat(entry) if entry.isdigit() else None
            if fields is not None:
                found[int(entry)] = int(fields[_PARENT])
    return found


def _stat(process: int | str) -> list[str] | None:
    try:
        with open(f"/proc/{process}/stat", "rb") as handle:
            return handle.read().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return None


def is_stopped(process: int) -> bool:
    """Return whether a process was stopped by a signal."""
    fields = _stat(process)
    return fields is not None and fields[_STATE] == "T"


def _beneath(process: int, parents: dict[int, int]) -> list[int]:
    """Return a process's descendants, a parent before its children."""
    by_parent: dict[int, list[int]] = {}
    for child, parent in parents.items():
        by_parent.setdefault(parent, []).append(child)
    found: list[int] = []
    waiting = [process]
    while waiting:
        children = by_parent.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def end_descent(process: int) -> None:
    """Kill a process with everything beneath it, in whatever group or session it is.

    The process is stopped first, so that it starts nothing more; whatever escapes between two looks loses its
    parent, and falls to whoever adopts orphans.
    """
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGSTOP)
    _kill_all(process, _parents())


def _kill_all(process: int, parents: dict[int, int]) -> None:
    for each in [*_beneath(process, parents), process]:
        with contextlib.suppress(OSError):
            os.kill(each, signal.SIGKILL)


def children_here() -> frozenset[int]:
    """Return the children of this process, which nobody else can reap meanwhile."""
    found: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as handle:
                found.update(map(int, handle.read().split()))
    except (OSError, ValueError):  # the system may show the parents of all processes alone
        own = os.getpid()
        return frozenset(child for child, parent in _parents().items() if parent == own)
    return frozenset(found)


def end_orphans(known: Collection[int]) -> None:
    """Kill and reap every child of this process that is not known, with everything beneath it.

    Args:
        known: children of its own; all others were adopted.
    """
    if not known and not _has_children():
        return
    for _ in range(_ROUNDS):
        strangers = children_here().difference(known)
        if not strangers:
            return
        parents = _parents()
        for stranger in strangers:
            _kill_all(stranger, parents)
        _reap(strangers)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _reap(killed: Collection[int]) -> None:
    """Wait until killed children are gone, a second at most: one may hang in the system."""
    until = time.monotonic() + 1
    for child in killed:
        with contextlib.suppress(ChildProcessError):
            while not os.waitpid(child, os.WNOHANG)[0] and time.monotonic() < until:
                time.sleep(_PAUSE)
