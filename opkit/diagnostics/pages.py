"""The explanation pages: one markdown file per code, shipped as package data."""

from __future__ import annotations

from importlib.resources import files

from opkit.errors import UsageError, nearest

__all__ = ["codes", "explain"]


def codes() -> tuple[str, ...]:
    """Return every code that has a page, sorted."""
    folder = files("opkit.diagnostics").joinpath("pages")
    return tuple(sorted(item.name[:-3] for item in folder.iterdir() if item.name.endswith(".md")))


def explain(code: str) -> str:
    """Return the page of a code, as markdown.

    Args:
        code: for example ``SPEC010``; case does not matter.

    Raises:
        UsageError: no such code; the message names the nearest.
    """
    name = code.strip().upper()
    known = codes()
    if name not in known:
        near = nearest(name, known)
        raise UsageError(
            f"there is no diagnostic code {code!r}",
            help=f"did you mean {', '.join(near)}?" if near else f"known codes: {', '.join(known)}",
        )
    return files("opkit.diagnostics").joinpath("pages").joinpath(f"{name}.md").read_text(encoding="utf-8")
