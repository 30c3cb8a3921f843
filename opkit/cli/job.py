"""Running a job in this process: its settings, its exit status, its traceback."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from opkit.cli.console import warn
from opkit.cli.edge import FINDINGS, INTERRUPTED
from opkit.cli.memory import keep_freed_memory
from opkit.errors import UsageError
from opkit.settings import settings
from opkit.shim import exec_script, install_frameworks

__all__ = ["run_job"]

_OWN = str(Path(__file__).resolve().parents[1]) + os.sep


def run_job(
    path: str, argv: Sequence[str], *, show_plan: bool = False, profile: bool = False, gpu_as_cpu: bool = False
) -> int:
    """Run a script as ``__main__`` and return the exit status that ``python`` would give it.

    Args:
        path: the script.
        argv: its arguments.
        show_plan: print the source of every compiled plan on standard error.
        profile: print a table of the time and memory of each op when the script ends, and write ``JOB.trace.json``.
        gpu_as_cpu: gpu placements run on the CPU.

    Raises:
        UsageError: there is no such script.
    """
    if not Path(path).is_file():
        raise UsageError(f"cannot run {path!r}: {'a folder, no such file' if Path(path).is_dir() else 'no such file'}")
    keep_freed_memory()
    sys.excepthook = sys.__excepthook__  # typer has put its own there, which is none of the script's business
    with contextlib.ExitStack() as stack:
        stack.enter_context(settings(on_plan=warn if show_plan else None, gpu_as_cpu=gpu_as_cpu))
        if profile:
            from opkit.cli.profile import profiled

            stack.enter_context(profiled(Path(path).stem + ".trace.json"))
        # Never undone: threads and exit handlers of the script may still import when its last line has run.
        install_frameworks()
        return _status_of(path, argv)


def _status_of(path: str, argv: Sequence[str]) -> int:
    try:
        exec_script(path, argv)
    except SystemExit as error:
        return _exit_status(error)
    except BaseException as error:
        sys.stdout.flush()
        _show(error)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FINDINGS
    return 0


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    warn(str(error.code))
    return 1


def _show(error: BaseException) -> None:
    """Show an uncaught error as the interpreter would, without opkit's own frames."""
    if sys.excepthook is not sys.__excepthook__:
        trace = error.__traceback__
        while trace is not None and _is_own(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return
    report = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    if os.environ.get("OPKIT_TRACEBACK") != "full":
        _hide_own_frames(report)
    sys.stderr.write("".join(report.format()))


def _hide_own_frames(report: traceback.TracebackException) -> None:
    if report.stack is not None:
        kept = [frame for frame in report.stack if not _is_own(frame.filename)]
        if kept or not report.stack:
            report.stack[:] = kept
        else:
            report.stack = None  # type: ignore[assignment]  # an error of the script's own text has no frames
    for other in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        if other is not None:
            _hide_own_frames(other)


def _is_own(filename: str) -> bool:
    return filename.startswith((_OWN, "<opkit", "<frozen importlib"))
