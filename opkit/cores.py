"""Cores: how many this process may use, and how many threads the linear algebra under numpy starts.

A product of matrices is computed by a BLAS library with threads of its own. Its default is one per core of the machine,
also where this process may use few of them, and one team for each of our threads: both make it slow.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

#: Names of OpenBLAS's functions: as built for numpy's wheels (64-bit and 32-bit integers), then as anybody builds it.
_SETTERS = (
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
)


#: Environment variables by which users say how many threads they want.
_SAID = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: Where Linux says what a control group is given: its second version, its first.
_QUOTAS = ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us")


def usable_cores() -> int:
    """Return how many cores this process may use: those it is bound to, and no more than its control group is given."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(count, _quota() or count))


def _quota() -> int | None:
    """Return the cores that the process's control group is given, None where it has no bound."""
    for file in _QUOTAS:
        with contextlib.suppress(OSError, ValueError):
            words = Path(file).read_text().split()
            if len(words) == 2:
                quota, period = words
            else:
                quota, period = words[0], Path(file).with_name("cpu.cfs_period_us").read_text()
            return None if quota in ("max", "-1") else max(1, math.ceil(int(quota) / int(period)))
    return None


@cache
def _library() -> tuple[Any, Any] | None:
    """Return the functions that set and get the number of threads of the BLAS library that numpy has loaded."""
    import numpy  # noqa: F401 - loads the library

    for path in _loaded():
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for setter, getter in _SETTERS:
                if hasattr(library, setter) and hasattr(library, getter):
                    return getattr(library, setter), getattr(library, getter)
    return None


def _loaded() -> list[str]:
    """Return the paths of BLAS libraries that are loaded into this process; none where the system does not say."""
    if not sys.platform.startswith("linux"):
        return []
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
        paths = {line.split(maxsplit=5)[-1] for line in lines if "/" in line}
        return sorted(path for path in paths if "openblas" in path or "mkl_rt" in path)
    return []


def blas_threads() -> int | None:
    """Return how many threads the BLAS library uses, None where that cannot be found out."""
    found = _library()
    return None if found is None else int(found[1]())


def set_blas_threads(count: int) -> None:
    """Let the BLAS library use so many threads from now on; without effect where it is not known how."""
    found = _library()
    if found is not None and int(found[1]()) != count:
        found[0](ctypes.c_int(count))


def fit_blas() -> None:
    """Let the BLAS library use no more threads than this process has cores, unless the user has said how many."""
    if not any(os.environ.get(name) for name in _SAID):
        before = blas_threads()
        if before is not None and before > usable_cores():
            set_blas_threads(usable_cores())


class _Teams:
    """The teams of threads that compute now, in whatever order they begin and end.

    Attributes:
        sizes: of each.
        alone: how many threads the BLAS library uses where there is none.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sizes: list[int] = []
        self.alone = 1

    def fit(self) -> None:
        """Let the BLAS library use the cores that are left; as before where no team computes."""
        share = usable_cores() // sum(self.sizes) if self.sizes else self.alone
        set_blas_threads(min(self.alone, max(1, share)))


_teams = _Teams()


@contextlib.contextmanager
def limit_blas(ours: int) -> Iterator[None]:
    """Bound the BLAS library's threads within a ``with`` block, so that all teams together have a core each.

    Blocks of several threads may overlap: the bound counts them all, and is gone with the last.

    Args:
        ours: how many threads of this process compute at once.
    """
    now = blas_threads()
    if now is None:
        yield
        return
    with _teams.lock:
        if not _teams.sizes:
            _teams.alone = blas_threads() or now
        _teams.sizes.append(ours)
        _teams.fit()
    try:
        yield
    finally:
        with _teams.lock:
            _teams.sizes.remove(ours)
            _teams.fit()
