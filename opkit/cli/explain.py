"""``opkit explain``: what a code means."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["explain"]


def explain(
    code: Annotated[
        str | None, typer.Argument(help="A code such as SPEC020; without one, the list.", show_default=False)
    ] = None,
) -> None:
    """Explain a code that `opkit build` or `opkit gradcheck` reported; without a code, list them all."""
    from opkit.cli.console import put
    from opkit.diagnostics import codes
    from opkit.diagnostics import explain as page

    if code is not None:
        put(page(code))
        return
    for item in codes():
        title = page(item).partition("\n")[0].lstrip("# ")
        put(title if title.startswith(item) else f"{item}: {title}")
