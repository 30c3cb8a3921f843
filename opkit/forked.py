"""Forked: a copy that user code made of a process ends where the user's code is left; the process itself goes on.

Nothing is known here of what the process does. A copy that went on would repeat its work: a kernel that forks on
each call would double the processes with each call.
"""

from __future__ import annotations

# By value: user code may replace them in the module.
from os import _exit, getpid


def end_if_forked(process: int) -> None:
    """End this process, without a word, where it is a copy.

    Args:
        process: the id that the process had before user code ran.
    """
    if getpid() != process:
        _exit(0)
