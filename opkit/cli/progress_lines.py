"""Progress as lines on standard error, for a run that takes long and whose reader is no terminal.

What a run found is shown by the reporters; a run that ends soon says nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from types import TracebackType

from opkit.checker import OpReport

_SECONDS = 15.0


class ProgressLines:
    """Says from time to time how many ops are done, and at which the run is; use it in a ``with`` block.

    Args:
        say: writes a line.
        seconds: from one line to the next.
    """

    def __init__(self, say: Callable[[str], None], seconds: float = _SECONDS) -> None:
        self._say, self._seconds = say, seconds
        self._open: list[str] = []
        self._count, self._began, self._is_over = 0, monotonic(), Event()
        self._thread = Thread(target=self._tell, daemon=True)

    def __enter__(self) -> ProgressLines:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def planned(self, ops: tuple[str, ...]) -> None:
        """Add ops that will be checked."""
        self._open += ops
        self._count += len(ops)

    def done(self, report: OpReport) -> None:
        """Count an op as checked."""
        if report.op in self._open:
            self._open.remove(report.op)

    def _tell(self) -> None:
        with suppress(OSError, ValueError):  # nobody reads it any more
            while not self._is_over.wait(self._seconds):
                self._say(self._line())

    def _line(self) -> str:
        if not self._count:
            return "loading what is to be checked"
        now = "".join(f", now {op}" for op in self._open[:1])
        return f"{self._count - len(self._open)} of {self._count} checked in {monotonic() - self._began:.0f} s{now}"
