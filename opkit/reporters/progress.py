"""A progress bar on a terminal's standard error, silent everywhere else.

What a run found is shown by the other reporters.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from opkit.checker import OpReport


class ProgressBar:
    """Shows how many ops are done; use it in a ``with`` block and pass it to the run.

    Args:
        stream: where to draw; standard error by default. Nothing is drawn unless it is a terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = stream if stream is not None else sys.stderr
        console = Console(file=stream, stderr=stream is sys.stderr)
        self._bar = Progress(
            SpinnerColumn("line"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not stream.isatty(),
        )
        self._task = self._bar.add_task("loading", total=None)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._bar.disable:  # older versions of rich end a line that was never begun
            self._bar.stop()

    def planned(self, ops: tuple[str, ...]) -> None:
        """Add ops that will be checked."""
        total = self._bar.tasks[0].total or 0
        self._bar.update(self._task, total=total + len(ops), description="checking")

    def done(self, report: OpReport) -> None:
        """Count an op as checked."""
        self._bar.update(self._task, advance=1, description=report.op[-30:])
