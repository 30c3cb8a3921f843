"""Reporters: a run of gradcheck, or diagnostics, in the formats that people and other programs read.

Every reporter returns a string; the command line prints it or writes it to a file. The names listed here are loaded
on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.reporters.forms import FORMS, render
    from opkit.reporters.github import github_diagnostics, github_report
    from opkit.reporters.html import html_report
    from opkit.reporters.json_form import json_report
    from opkit.reporters.junit import junit_report
    from opkit.reporters.progress import ProgressBar
    from opkit.reporters.run import RunView
    from opkit.reporters.sarif import sarif_diagnostics, sarif_report
    from opkit.reporters.text import text_report

__all__ = [
    "FORMS",
    "ProgressBar",
    "RunView",
    "github_diagnostics",
    "github_report",
    "html_report",
    "json_report",
    "junit_report",
    "render",
    "sarif_diagnostics",
    "sarif_report",
    "text_report",
]

_HOMES = {
    "FORMS": "forms",
    "ProgressBar": "progress",
    "RunView": "run",
    "github_diagnostics": "github",
    "github_report": "github",
    "html_report": "html",
    "json_report": "json_form",
    "junit_report": "junit",
    "render": "forms",
    "sarif_diagnostics": "sarif",
    "sarif_report": "sarif",
    "text_report": "text",
}

__getattr__ = deferred(__name__, _HOMES)
