"""A report by itself, as a notebook and ``str`` show it: no run around it, no page around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from markupsafe import Markup

from opkit.checker import Report
from opkit.diagnostics import Diagnostic
from opkit.record import record
from opkit.reporters.html import op_data
from opkit.reporters.layout import filled
from opkit.reporters.run import counts
from opkit.reporters.text import text_report


@record
class Alone:
    """A report as a run without diagnostics or saved failures."""

    report: Report
    diagnostics: Sequence[Diagnostic] = ()
    saved: Mapping[tuple[int, int], str] = field(default_factory=dict)
    is_interrupted: bool = False

    @property
    def seconds(self) -> float:
        """The time of all its ops."""
        return sum(op.seconds for op in self.report.ops)


def text(report: Report) -> str:
    """Return the text report, without its last end of line."""
    return text_report(Alone(report), width=100).rstrip()


def notebook(report: Report) -> str:
    """Return a fragment of a page: status, domain and findings with source lines and pictures of each op."""
    ops = [op_data(Alone(report), place, {}) for place in range(len(report.ops))]
    shown = filled("notebook.html", report.opkit, "", "", counts=counts(report), ops=ops)
    return Markup(shown)
