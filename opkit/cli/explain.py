"""``opkit explain``: what a code, or a word of a report, means."""

from __future__ import annotations

from typing import Annotated

import typer

from opkit.cli.flags import one_of


def _codes(incomplete: str) -> list[str]:
    from opkit.diagnostics import FAMILIES, codes

    return [code for code in (*FAMILIES, *codes()) if code.startswith(incomplete.upper())]


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE",
            autocompletion=_codes,
            help="A code such as SPEC020, a word of a report such as undecided, or a family: SPEC, PROJ, GC, SBP.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all, family by family, and the words.")] = False,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="text|markdown", help="What is printed.", autocompletion=one_of(("text", "markdown"))
        ),
    ] = "text",
) -> None:
    """Explain a code of `opkit build`, `opkit gradcheck` or `opkit sbp`, or a word of a report; without one, list all.

    Example: `opkit explain GC101`, `opkit explain undecided`.
    """
    import sys

    from opkit.cli.arguments import choice
    from opkit.cli.console import put, text_width, uses_colour
    from opkit.cli.page import laid_out
    from opkit.diagnostics import FAMILIES, words
    from opkit.diagnostics import explain as page
    from opkit.errors import UsageError

    choice("--format", form, ("text", "markdown"))
    family = (code or "").strip().upper()
    if every and code is not None:
        raise UsageError("--all lists every code", help=f"opkit explain --all, or opkit explain {code}")

    def put_page(text: str) -> None:
        put(text if form == "markdown" else laid_out(text, text_width(), is_coloured=uses_colour(sys.stdout)))

    if code is not None and family not in FAMILIES:
        put_page(page(code))
        return
    listed = _listed([family] if family else list(FAMILIES))
    put_page(f"{listed}\n\n## Words of a report\n\n{words()}" if every else listed)


def _listed(families: list[str]) -> str:
    from opkit.diagnostics import FAMILIES, titles

    parts = []
    for family in families:
        rows = "\n".join(f"- **{code}**: {title}" for code, title in titles(family))
        parts.append(f"## {family}: {FAMILIES[family]}\n\n{rows}")
    return "\n\n".join(parts)
