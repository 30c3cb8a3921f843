"""A report by itself, as a notebook and ``str`` show it: no run around it, no page around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from markupsafe import Markup

from opkit.checker import Report
from opkit.diagnostics import Diagnostic
from opkit.record import record
from opkit.reporters.html import op_data
from opkit.reporters.layout import filled, look
from opkit.reporters.run import counts
from opkit.reporters.text import text_report

#: What a rule of a style sheet is for, or which medium.
_RULE = re.compile(r"([^{}]+)\{")


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
    own = Markup(_RULE.sub(_scoped, look()) + _themes())
    return filled("notebook.html", report.opkit, "", "", counts=counts(report), ops=ops, own=own)


def _themes() -> str:
    """Return the colours for a page that says which theme it has, as JupyterLab's do, whatever the system has."""
    light, dark = re.findall(r":root \{(.*?)\}", look(), re.DOTALL)
    given = {"true": light, "false": dark}.items()
    return "".join(f'.opkit.opkit:is([data-jp-theme-light="{is_light}"] *) {{{own}}}\n' for is_light, own in given)


def _scoped(found: re.Match[str]) -> str:
    """Return what a rule is for, in the report alone: it wins over the notebook's rules, and changes no other cell."""
    if "@" in found[1]:
        return found[0]
    within = (item.strip().removeprefix(":root").removeprefix("body") for item in found[1].split(","))
    return ", ".join(f".opkit.opkit {item}".rstrip() for item in within) + " {"
