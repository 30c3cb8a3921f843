"""Findings as GitHub workflow commands, which become annotations on the lines of a pull request.

Passed checks are not mentioned, unless they come with a line to add; of an op that passes its notes are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opkit.checker import CheckResult, Status
from opkit.diagnostics import Diagnostic, Severity
from opkit.reporters.run import RunView, findings, heading, remarks
from opkit.reporters.values import printable, said_of

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github_report(run: RunView) -> str:
    """Return one ``::error`` or ``::warning`` line per finding, ``::notice`` per remark; "" where there is none.

    What an op that passes has notes on, such as what it is not served with, is a ``::notice`` too.
    """
    lines = [_diagnostic(item) for item in run.diagnostics]
    for finding in findings(run, Status.FAIL, Status.ERROR, Status.UNDECIDED):
        level = "warning" if finding.result.status is Status.UNDECIDED else "error"
        lines.append(_result(level, finding.result, heading(finding.result), said_of(finding)))
    for finding in remarks(run):
        result = finding.result
        text = f"{finding.op.op}: {result.message}\n{result.hint}"
        lines.append(_result("notice", result, f"{result.code} {result.check}", text))
    noted = [op for op in run.report.ops if op.status is Status.PASS and op.notes]
    lines += [_command("notice", [("title", f"notes on {op.op}")], "\n".join(op.notes)) for op in noted]
    return "".join(f"{line}\n" for line in lines)


def github_diagnostics(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one workflow command per diagnostic, for ``opkit build``."""
    return "".join(f"{_diagnostic(item)}\n" for item in diagnostics)


def _result(level: str, result: CheckResult, title: str, text: str) -> str:
    where = result.where
    place = [("file", where.file), ("line", where.line), ("col", where.col)] if where is not None else []
    return _command(level, [*place, ("title", title)], text)


def _diagnostic(item: Diagnostic) -> str:
    span = item.span
    place: list[tuple[str, object]] = []
    if span is not None:
        place = [("file", span.path), ("line", span.line), ("endLine", span.end_line)]
        if span.line == span.end_line:
            place += [("col", span.col), ("endColumn", max(span.end_col - 1, span.col))]
    text = "\n".join([item.message, *(note.message for note in item.notes), *([item.help] if item.help else [])])
    return _command(_LEVEL[item.severity], [*place, ("title", item.code)], text)


def _command(level: str, properties: Sequence[tuple[str, object]], message: str) -> str:
    given = [(name, _data(str(value))) for name, value in properties if value not in (0, "")]
    shown = ",".join(f"{name}={value.replace(':', '%3A').replace(',', '%2C')}" for name, value in given)
    return f"::{level} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return printable(text.replace("\r\n", "\n")).replace("%", "%25").replace("\n", "%0A")
