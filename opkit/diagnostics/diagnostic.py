"""Diagnostic: one finding about a user's text, as data.

Rendering it for people is in ``render``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from opkit.diagnostics.source import Span
from opkit.record import record


class Severity(Enum):
    """How bad a finding is; only an ERROR changes an exit status."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@record
class Note:
    """A second position or remark that belongs to a diagnostic.

    Args:
        message: one sentence.
        span: the position that it is about, None without one.
    """

    message: str
    span: Span | None = None


@record
class Diagnostic:
    """One finding.

    Args:
        code: stable code such as ``SPEC010``; ``opkit explain CODE`` describes it.
        severity: error, warning or note.
        message: what is wrong, one sentence.
        span: where, None where the finding does not belong to a text.
        notes: second positions ("declared here").
        help: the next step, one line.
        subject: the op type that the finding is about, "" for the whole file.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    help: str = ""
    subject: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the severity is ERROR."""
        return self.severity is Severity.ERROR


_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings ordered by file, position, severity and code, without repetitions."""

    def key(item: Diagnostic) -> tuple[str, int, int, str, str]:
        span = item.span
        return (span.path if span else "", span.start if span else -1, _ORDER[item.severity], item.code, item.message)

    unique: dict[tuple[object, ...], Diagnostic] = {}
    for item in diagnostics:
        span = item.span
        where = (span.path, span.start, span.end) if span else None
        unique.setdefault((item.code, item.message, where), item)
    return tuple(sorted(unique.values(), key=key))


def _place(span: Span | None) -> dict[str, object]:
    if span is None:
        return {"file": None, "line": None, "col": None, "end_line": None, "end_col": None}
    return {
        "file": span.path,
        "line": span.line,
        "col": span.col,
        "end_line": span.end_line,
        "end_col": span.end_col,
    }


def to_json(diagnostic: Diagnostic) -> dict[str, object]:
    """Return the finding as plain data.

    Returns:
        keys code, severity, message, file, line, col, end_line, end_col, notes, help; each note has
        message, file, line, col, end_line, end_col. Positions are None where there is no span.
    """
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(diagnostic.span),
        "notes": [{"message": note.message, **_place(note.span)} for note in diagnostic.notes],
        "help": diagnostic.help,
    }
