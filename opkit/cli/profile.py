"""``--profile``: time and memory of each op of a run, from an observer of the runtime."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import opkit
from opkit.cli.console import console, error_line, warn
from opkit.cli.ends import FINDINGS, USAGE
from opkit.cli.report_file import now, write_report
from opkit.errors import UsageError
from opkit.ops.core.observers import observe
from opkit.ops.core.profile import Profile


@contextmanager
def profiled(trace: str | None = None, reports: Sequence[tuple[str, Path]] = ()) -> Iterator[list[int]]:
    """Observe every op of this thread; at the end show a table on standard error, the costliest op first.

    Args:
        trace: where to write a trace for Chrome or Perfetto, None for nowhere.
        reports: (form, file) of what is written besides: "html" or "json".

    Yields:
        a list that holds, at the end, an exit status for each report that could not be written.
    """
    command = shlex.join(["opkit", *sys.argv[1:]])  # the script may change its arguments
    profile = Profile()
    unwritten: list[int] = []
    try:
        with observe(profile.observe):
            yield unwritten
    finally:
        _show(profile)
        if trace is not None and profile.events:
            try:
                profile.write_trace(trace)
            except OSError as error:
                warn(f"the trace was not written to {trace}: {error.strerror or error}")
            else:
                warn(f"trace: {Path(trace)} (open it in chrome://tracing or ui.perfetto.dev)")
        for form, path in reports:
            status = _report(profile, form, path, command)
            unwritten += [status] if status else []


def _report(profile: Profile, form: str, path: Path, command: str) -> int:
    """Write a report; return 0, or the exit status for what prevents it."""
    from opkit.reporters.profile_page import profile_json, profile_page

    if form == "html":
        text = profile_page(profile, opkit.__version__, command, now())
    else:
        text = json.dumps(profile_json(profile, opkit.__version__), indent=2) + "\n"
    try:
        write_report(path, text)
    except UsageError as error:
        warn(error_line(error))
        return USAGE
    except OSError as error:
        warn(f"error: cannot write {str(path)!r}: {error.strerror or error}")
        return FINDINGS
    warn(f"report: {path}")
    return 0


def _show(profile: Profile) -> None:
    from rich import box
    from rich.table import Table

    total = sum(row.seconds for row in profile.rows.values())
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("op")
    for name in ("calls", "total ms", "share", "mean us", "slowest us", "made MB", "most MB"):
        table.add_column(name, justify="right")
    for name, row in profile.costliest():
        table.add_row(
            name.replace("[", "\\["),
            str(row.calls),
            f"{row.seconds * 1e3:.2f}",
            f"{row.seconds / total:.0%}" if total else "-",
            f"{row.seconds / row.calls * 1e6:.1f}",
            f"{row.slowest * 1e6:.1f}",
            f"{row.made_bytes / 1e6:.2f}",
            f"{row.most_bytes / 1e6:.2f}",
        )
    if not profile.rows:
        table.add_row("no op ran", "", "", "", "", "", "", "")
    sys.stdout.flush()
    out = console(sys.stderr)
    # In a file or a pipe a row stays one line, however long a function's name is.
    out.width = out.width if out.is_terminal else 200
    out.print(table)
