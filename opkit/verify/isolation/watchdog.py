"""Watchdog: interrupts a thread of this process when its time is over, where no other process can end it.

It interrupts Python code; a call into C that does not return is out of its reach.
"""

from __future__ import annotations

import ctypes
import math
import sys
import threading
from types import FrameType, TracebackType

#: How often the thread is interrupted again where its code goes on.
_AGAIN = 0.5


class LateError(BaseException):
    """Raised in the watched thread, at whatever line it is."""


class Watchdog:
    """Watches over the thread that enters it; a context manager.

    Args:
        seconds: after which the thread is interrupted, 0 for never.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds or math.inf
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.get_ident()
        self._frame: FrameType | None = None
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchdog:
        if self._seconds < math.inf:
            self._frame = sys._getframe(1)
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Taking back what was sent would leave Python's flag that something is pending set for good, and a function
        # that is traced by its instructions would never get past its first one (CPython 3.11).
        try:
            with self._lock:
                self._over.set()
            for _ in range(2):  # what was sent comes here at the latest
                pass
        except LateError:
            self._over.set()

    def _watch(self) -> None:
        wait = self._seconds
        while not self._over.wait(wait):
            with self._lock:
                if not self._is_inside():  # what was sent may have ended the block before it could be left
                    break
                if not self._over.is_set():
                    late = ctypes.py_object(LateError)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), late)
            wait = _AGAIN
        self._frame = None

    def _is_inside(self) -> bool:
        """Return whether the thread still runs, or is called by, the function that entered the block."""
        frame = sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None
