"""Layout: what opkit's pages have in common: their look, their one script, and how a template is filled.

Every page is self-contained: no script, font or picture from elsewhere. What is on a page is its own module's business.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from opkit.reporters.values import printable


def filled(template: str, version: str, invocation: str, made: str, **values: Any) -> str:
    """Return a page.

    Args:
        template: the name of its file in this package.
        version: opkit's, that made it.
        invocation: the command line that made it, "" for none.
        made: when, "" where that is left out.
        **values: what the template shows.
    """
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    return environment.get_template(template).render(
        look=Markup(look()),
        copying=Markup(_text("copying.js")),
        version=version,
        invocation=invocation,
        made=made,
        **values,
    )


def look() -> str:
    """Return the style sheet of all pages."""
    return _text("look.css")


def _text(name: str) -> str:
    return files("opkit.reporters").joinpath(name).read_text(encoding="utf-8")


def _clean(value: Any) -> Any:
    """Return what the page shows of a value: text without control characters, and what is markup as it is."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
