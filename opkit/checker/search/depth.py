"""Depth: how far forward gets with some inputs before it raises: the instruction that raises, then how many ran.

Watches the user's own file alone; what was returned is not looked at.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, TypeAlias

#: The further the larger.
Depth: TypeAlias = tuple[float, ...]
#: Of inputs that are taken.
TAKEN: Depth = (float("inf"),)

_real = lru_cache(maxsize=64)(os.path.realpath)


def depth_of(call: Callable[[], object], file: str, said: list[str] | None = None) -> Depth:
    """Return how far a call gets in the functions of a file, TAKEN where nothing is raised.

    Of two guards of one condition the same statement raises; the second lets more instructions run before it does.

    Args:
        call: runs user code.
        file: that the user wrote.
        said: takes up what was raised.
    """
    file = _real(file)
    ran: set[tuple[CodeType, int]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and _real(frame.f_code.co_filename) != file:
            return None
        frame.f_trace_opcodes = True
        ran.add((frame.f_code, frame.f_lasti))
        return watch

    former = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    except (Exception, SystemExit) as error:  # user code
        if said is not None:
            with suppress(Exception):  # a message is user code too
                said.append(str(error))
        return (*_raising(error, file), float(len(ran)))
    finally:
        sys.settrace(former)
    return TAKEN


def _raising(error: BaseException, file: str) -> tuple[float, ...]:
    """Return the instruction of the file's outermost function at which an exception left it."""
    trace = error.__traceback__
    while trace is not None and _real(trace.tb_frame.f_code.co_filename) != file:
        trace = trace.tb_next
    return (-1.0,) if trace is None else (float(trace.tb_lasti),)
