"""The formats of a report by name, each loaded on first use.

rich and jinja2 take longer to import than a small op takes to check.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opkit.errors import UsageError, unknown

if TYPE_CHECKING:  # whoever only asks for the names needs no checker
    from opkit.reporters.run import RunView

#: The names that ``--format`` and ``--report NAME=FILE`` take; the package has a reporter for each.
FORMS = ("text", "json", "html", "junit", "github", "sarif")


def render(run: RunView, form: str, invocation: str = "", made: str = "", portraits: Any = None) -> str:
    """Return a run in a form, with that form's default settings.

    Args:
        run: what is shown.
        form: one of FORMS.
        invocation: the command line, which an HTML page shows.
        made: when it was made, likewise.
        portraits: what the page's pictures show, likewise.

    Raises:
        UsageError: there is no such form; the nearest is named.
    """
    if form not in FORMS:
        raise unknown("there is no report form", form, FORMS, has="there are").error(UsageError)
    reporter: Callable[..., str] = getattr(import_module("opkit.reporters"), f"{form}_report")
    return reporter(run, invocation, made, portraits) if form == "html" else reporter(run)
