"""``opkit explain``: what a code means."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Annotated

import typer

__all__ = ["explain"]

_KEPT = ("#", "```", "|", "- ", " ")


def explain(
    code: Annotated[
        str | None,
        typer.Argument(help="A code such as SPEC020, or a family: SPEC, PROJ, GC, SBP.", show_default=False),
    ] = None,
) -> None:
    """Explain a code of `opkit build`, `opkit gradcheck` or `opkit sbp`; list a family, or all without an argument.

    Example: `opkit explain GC101`.
    """
    from opkit.cli.console import put
    from opkit.diagnostics import FAMILIES, codes
    from opkit.diagnostics import explain as page

    family = (code or "").strip().upper()
    if code is not None and family not in FAMILIES:
        put(_filled(page(code)) if sys.stdout.isatty() else page(code))
        return
    for item in codes():
        if item.startswith(family):
            title = page(item).partition("\n")[0].lstrip("# ")
            put(title if title.startswith(item) else f"{item}: {title}")


def _filled(text: str) -> str:
    """Return a page with its paragraphs wrapped to the terminal's width; code, lists, tables and headings stay."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    blocks: list[str] = []
    is_code = False
    for block in text.split("\n\n"):
        keeps = is_code or block.startswith(_KEPT)
        is_code ^= block.count("```") % 2 == 1
        blocks.append(block if keeps else textwrap.fill(block, width, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(blocks)
