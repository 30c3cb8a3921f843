"""Page: an explanation laid out for a terminal: paragraphs wrapped, code set off, headings in colour.

It knows the few forms of Markdown that pages have; what a page says is not its business.
"""

from __future__ import annotations

import re
import textwrap

from opkit.cli.console import styled
from opkit.reporters.prose import blocks, items_of

_HEADINGS = {"Wrong": "error", "Right": "good"}
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_INDENT = "    "


def laid_out(page: str, width: int, *, is_coloured: bool) -> str:
    """Return a page of Markdown as text of a width; code keeps its lines, however long they are."""
    return "\n\n".join(_block(block, width, is_coloured) for block in blocks(page.splitlines()))


def _block(lines: list[str], width: int, is_coloured: bool) -> str:
    first = lines[0]
    if first.startswith("```"):
        return "\n".join(f"{_INDENT}{line}".rstrip() for line in lines[1:-1])
    if first.startswith("#"):
        text = first.lstrip("# ")
        return styled("\n".join(textwrap.wrap(text, width)), _HEADINGS.get(text, "strong"), is_coloured)
    if first.startswith("- "):
        return "\n".join(_wrapped(item, width, is_coloured, "- ", "  ") for item in items_of(lines))
    if first.startswith("|"):
        return "\n".join(lines)
    return _wrapped(" ".join(lines), width, is_coloured)


def _wrapped(text: str, width: int, is_coloured: bool, first: str = "", then: str = "") -> str:
    filled = textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
    filled = _BOLD.sub(lambda found: styled(found[1], "strong", is_coloured), filled)
    return _CODE.sub(lambda found: styled(found[1], "note", True) if is_coloured else found[0], filled)
