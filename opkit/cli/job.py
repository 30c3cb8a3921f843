"""Running a job in this process: its settings, its exit status, its traceback.

Memory of a job's process: freed blocks are kept for the next array instead of going back to the system each time.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from opkit.cli.console import warn
from opkit.cli.ends import FINDINGS, INTERRUPTED, ended
from opkit.collection import uncollected
from opkit.cores import fit_blas
from opkit.errors import OpkitError, UsageError, did_you_mean, nearest
from opkit.settings import settings
from opkit.shim import exec_script, install_frameworks

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


_OWN = str(Path(__file__).resolve().parents[1]) + os.sep


def run_plainly(path: str, argv: Sequence[str]) -> None:
    """Run a script with the settings that hold where no option says otherwise, and exit as it does."""
    with ended():
        raise SystemExit(run_job(path, argv))


def run_job(
    path: str,
    argv: Sequence[str],
    *,
    show_plan: bool = False,
    profile: bool = False,
    reports: Sequence[tuple[str, Path]] = (),
    gpu_as_cpu: bool = False,
    kernel: str = "auto",
    threads: int = 1,
    cluster: str = "",
    with_numpy1_names: bool = False,
) -> int:
    """Run a script as ``__main__`` and return the exit status that ``python`` would give it.

    Where that is 0 and a report cannot be written, the status says so.

    Args:
        path: the script.
        argv: its arguments.
        show_plan: print the source of every compiled plan on standard error.
        profile: print a table of the time and memory of each op when the script ends, and write ``JOB.trace.json``.
        reports: (form, file) of the profile's reports.
        gpu_as_cpu: gpu placements run on the CPU.
        kernel: "python", "cpp" or "auto": which kernels of op directories run.
        threads: devices of its OneFlow jobs, if the script does not set their number.
        cluster: whose workers are the devices of its jobs, "" for threads.
        with_numpy1_names: numpy has the names of numpy 1 that numpy 2 lacks.

    Raises:
        UsageError: there is no such script.
    """
    if not Path(path).is_file():
        raise _no_script(path)
    keep_freed_memory()
    with uncollected():
        fit_blas()  # loads numpy
    sys.excepthook = sys.__excepthook__  # typer has put its own there, which does not concern the script
    unwritten: list[int] = []
    with contextlib.ExitStack() as stack:
        shown = warn if show_plan else None
        asked = {"gpu_as_cpu": gpu_as_cpu, "kernel": kernel, "threads": threads, "cluster": cluster}
        stack.enter_context(settings(on_plan=shown, on_note=warn, **asked))
        if profile:
            from opkit.cli.profile import profiled

            unwritten = stack.enter_context(profiled(Path(path).stem + ".trace.json", reports))
        if with_numpy1_names:
            from opkit.shim.numpy1 import numpy1_names

            stack.enter_context(numpy1_names())
        # Never undone: threads and exit handlers of the script may still import when its last line has run.
        install_frameworks()
        status = _status_of(path, argv)
    return status or max(unwritten, default=0)


def _no_script(path: str) -> UsageError:
    from opkit.project.directory import near_files

    if Path(path).is_symlink() and not Path(path).exists():
        return UsageError(f"cannot run {path!r}: it is a link that leads to no file")
    if Path(path).is_dir():
        return UsageError(f"cannot run {path!r}: a folder, no such file")
    return UsageError(f"cannot run {path!r}: no such file", help=did_you_mean(near_files(path, suffix=".py")[:1]))


def _status_of(path: str, argv: Sequence[str]) -> int:
    try:
        exec_script(path, argv)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        warn(str(error.code))
        return 1
    except BaseException as error:
        sys.stdout.flush()
        _show(error)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FINDINGS
    return 0


def _show(error: BaseException) -> None:
    """Show an uncaught error as the interpreter would, without opkit's own frames."""
    if sys.excepthook is not sys.__excepthook__:
        trace = error.__traceback__
        while trace is not None and _is_own(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return
    report = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    _suggest(report, error)
    if os.environ.get("OPKIT_TRACEBACK") != "full":
        _hide_own_frames(report)
    sys.stderr.write("".join(report.format()))
    if isinstance(error, AttributeError) and not isinstance(error, OpkitError):
        _help_numpy1(error)


def _help_numpy1(error: AttributeError) -> None:
    """Say how a name of numpy 1 can be had where the script stopped for one."""
    from opkit.shim.numpy1 import removed_name

    name = removed_name(error)
    if name:
        warn(f"  help: `opkit run --numpy1-names JOB.py` lets numpy have names of numpy 1, such as np.{name}")


def _suggest(report: traceback.TracebackException, error: BaseException) -> None:
    """Add the nearest name, as the interpreter itself does; ``traceback`` has done so since Python 3.12 only."""
    if sys.version_info >= (3, 12) or not isinstance(error, (AttributeError, NameError)) or not error.name:
        return
    if isinstance(error, AttributeError):
        known = dir(error.obj) if error.obj is not None else []
    else:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        scope = frame.tb_frame if frame is not None else None
        known = [*scope.f_locals, *scope.f_globals, *scope.f_builtins] if scope is not None else []
    near = nearest(error.name, [name for name in known if name != error.name], limit=1)
    held: Any = report
    if near and not isinstance(error, OpkitError) and "Did you mean" not in str(held._str):
        held._str = f"{held._str}. Did you mean: {near[0]!r}?"


def _hide_own_frames(report: traceback.TracebackException) -> None:
    if report.stack is not None:
        kept = [frame for frame, then in zip_longest(report.stack, report.stack[1:]) if not _is_hidden(frame, then)]
        if kept or not report.stack:
            report.stack[:] = kept
        else:
            report.stack = None  # type: ignore[assignment]  # an error of the script's own text has no frames
    for other in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        if other is not None:
            _hide_own_frames(other)


def _is_hidden(frame: traceback.FrameSummary, then: traceback.FrameSummary | None) -> bool:
    """Whether a frame is opkit's, or lies between the user's ``with`` and opkit's context manager."""
    if _is_own(frame.filename):
        return True
    return frame.filename == contextlib.__file__ and then is not None and _is_own(then.filename)


def _is_own(filename: str) -> bool:
    return filename.startswith((_OWN, "<opkit", "<frozen importlib"))
