"""Memory of a job's process: freed blocks are kept for the next array instead of going back to the system each time."""

from __future__ import annotations

import ctypes
import os
import sys

# glibc's malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> bool:
    """Let malloc keep large freed blocks; return whether it does.

    A job makes and frees arrays of the same sizes over and over. By default glibc maps each large one again, and at a
    million elements the page faults cost more than the arithmetic. This applies to glibc only, and only where the user
    has not set ``MALLOC_..._THRESHOLD_``. Freed memory goes back to the system when the process ends.
    """
    if not sys.platform.startswith("linux") or any(name.endswith("_THRESHOLD_") for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, 1 << 30) and mallopt(_TRIM_THRESHOLD, (1 << 31) - 1))
