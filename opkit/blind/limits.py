"""What a process is set to before user code runs in it: threads, memory, descriptors, traces of its death.

Nothing of opkit's own is imported here, so that the settings stand before numpy is.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Mapping

MEBIBYTE = 1 << 20
#: Descriptors are put out of the way of code that closes or writes to them by their numbers.
_HIGH = 700
#: Fields of /proc/PID/statm, in pages.
_SPACE, _RESIDENT = 0, 1
#: What BLAS and OpenMP read the number of their threads from.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
#: What Triton reads: whether kernels run in its interpreter; and where the systems show a GPU.
INTERPRETED = "TRITON_INTERPRET"
_GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")


def pinned(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which BLAS and OpenMP use one thread, and Triton its interpreter where there is no GPU.

    One thread makes the results independent of the machine's load, and a fork safe.
    """
    found = {**environment, **dict.fromkeys(THREADS, "1")}
    if not any(map(os.path.exists, _GPUS)):
        found.setdefault(INTERPRETED, "1")
    return found


def threads_here() -> int:
    """Return how many threads this process has, Python's own where the system does not say."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def memory_held() -> int:
    """Return the bytes of address space that this process uses now, 0 where the system does not say."""
    return _memory("self", _SPACE)


def memory_resident(process: int | str = "self", ceiling: float = 0.0) -> int:
    """Return the bytes of memory that a process holds now, 0 where the system does not say.

    Address space that is reserved and not used does not count: allocators of frameworks reserve much of it.

    Args:
        process: its number, by default this one.
        ceiling: what the result is compared with; where that is infinite, nothing is looked up.
    """
    return _memory(process, _RESIDENT) if ceiling < math.inf else 0


def _memory(process: int | str, field: int) -> int:
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as handle:
            return int(handle.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def memory_kills() -> int:
    """Return how many processes the system has ended for lack of memory, 0 where it does not say."""
    try:
        with open("/proc/vmstat", encoding="ascii") as handle:
            return next((int(line.split()[1]) for line in handle if line.startswith("oom_kill ")), 0)
    except (OSError, ValueError):
        return 0


def limit_memory(mebibytes: int) -> bool:
    """Allow this process that much more memory than it uses now.

    Args:
        mebibytes: the allowance; 0 for no limit.

    Returns:
        Whether a limit was set; the platform may know none.
    """
    if mebibytes <= 0 or sys.platform == "win32":
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = memory_held() + mebibytes * MEBIBYTE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    with contextlib.suppress(OSError, ValueError, OverflowError):  # more than any address space is no limit
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
        return True
    return False


def is_limited() -> bool:
    """Return whether this process's address space is limited; that of a fresh interpreter is not."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def put_aside(descriptor: int) -> int:
    """Return a descriptor under a high number in its place, itself where there may be none."""
    import fcntl  # Unix only, as fork is

    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def trace_deaths(descriptor: int) -> None:
    """Write Python's stack to a file when the process crashes, and when it is sent SIGUSR2."""
    import faulthandler  # no ordinary run has it

    faulthandler.enable(file=descriptor, all_threads=True)
    if hasattr(signal, "SIGUSR2"):
        faulthandler.register(signal.SIGUSR2, file=descriptor, all_threads=True)
