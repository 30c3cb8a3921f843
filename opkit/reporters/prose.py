"""Pages of explanation as HTML: headings, paragraphs, lists and code of the Markdown that they are written in.

Only what these pages use is understood; everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape


def prose(page: str) -> str:
    """Return a page of Markdown without its title as HTML."""
    return "\n".join(_blocks(page.splitlines()[1:]))


def _blocks(lines: list[str]) -> Iterator[str]:
    block: list[str] = []
    code: list[str] | None = None
    for line in [*lines, ""]:
        if line.startswith("```"):
            if code is None:
                code = []
            else:
                yield f'<pre tabindex="0">{escape(chr(10).join(code))}</pre>'
                code = None
        elif code is not None:
            code.append(line)
        elif line.strip():
            block.append(line)
        elif block:
            yield _block(block)
            block = []


def _block(lines: list[str]) -> str:
    if lines[0].startswith("#"):
        return f"<h4>{_marked(lines[0].lstrip('# '))}</h4>" + (_block(lines[1:]) if lines[1:] else "")
    if lines[0].lstrip().startswith(("- ", "* ")):
        items: list[str] = []
        for line in lines:
            if line.lstrip().startswith(("- ", "* ")):
                items.append(line.lstrip()[2:])
            else:
                items[-1] += " " + line.strip()
        return "<ul>" + "".join(f"<li>{_marked(item)}</li>" for item in items) + "</ul>"
    return f"<p>{_marked(' '.join(line.strip() for line in lines))}</p>"


def _marked(text: str) -> str:
    """Return a line with its code and its stressed words as elements."""
    found = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", found)
