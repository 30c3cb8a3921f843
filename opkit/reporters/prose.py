"""Pages of explanation as HTML: headings, paragraphs, lists and code of the Markdown that they are written in.

Only what these pages use is understood; everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape


def prose(page: str) -> str:
    """Return a page of Markdown without its title as HTML."""
    return "\n".join(map(_block, blocks(page.splitlines()[1:])))


def blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of each block of a page: what stands between blank lines, a fenced block as a whole."""
    block: list[str] = []
    is_fenced = False
    for line in [*lines, ""]:
        is_fenced ^= line.startswith("```")
        if line.strip() or is_fenced:
            block.append(line)
        elif block:
            yield block
            block = []


def items_of(lines: Iterable[str]) -> list[str]:
    """Return the items of a list, each in one line."""
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:])
        else:
            items[-1] += " " + line.strip()
    return items


def _block(lines: list[str]) -> str:
    if lines[0].startswith("```"):
        return f'<pre tabindex="0">{escape(chr(10).join(lines[1:-1]))}</pre>'
    if lines[0].startswith("#"):
        return f"<h4>{_marked(lines[0].lstrip('# '))}</h4>" + (_block(lines[1:]) if lines[1:] else "")
    if lines[0].startswith("- "):
        return "<ul>" + "".join(f"<li>{_marked(item)}</li>" for item in items_of(lines)) + "</ul>"
    return f"<p>{_marked(' '.join(line.strip() for line in lines))}</p>"


def _marked(text: str) -> str:
    """Return a line with its code and its stressed words as elements."""
    found = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", found)
