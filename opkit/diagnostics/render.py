"""Diagnostics as text for people: the source line, carets, notes and a help line.

No colours and no printing: a caller decides both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from opkit.diagnostics.diagnostic import Diagnostic, Note
from opkit.diagnostics.source import Span

_TAB = "    "
_WIDEST = 160


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Render findings in the style of rustc, one block each, blocks separated by an empty line.

    Args:
        diagnostics: findings in the order to be shown.

    Returns:
        the text, ending in a line end; "" for no findings.
    """
    blocks = [_block(item) for item in diagnostics]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _block(item: Diagnostic) -> str:
    lines = [f"{item.severity.value}[{item.code}]: {_printable(item.message)}"]
    width = _gutter(item)
    if item.span is not None:
        lines += _snippet(item.span, width)
    for note in item.notes:
        lines += _note(note, width)
    if item.help:
        lines.append(f"{' ' * width} = help: {_printable(item.help)}")
    return "\n".join(lines)


def _gutter(item: Diagnostic) -> int:
    numbers = [span.line for span in (item.span, *(note.span for note in item.notes)) if span is not None]
    return max((len(str(number)) for number in numbers), default=1)


def _note(note: Note, width: int) -> list[str]:
    if note.span is None:
        return [f"{' ' * width} = note: {_printable(note.message)}"]
    return [f"{' ' * width} = note: {_printable(note.message)}", *_snippet(note.span, width)]


def _snippet(span: Span, width: int) -> list[str]:
    line, col = span.line, span.col
    source = span.source.line(line)
    last = span.end_col if span.end_line == line else len(source) + 1
    pad = " " * width
    before = _printable(source[: col - 1])
    marked = _printable(source[col - 1 : last - 1])
    after = _printable(source[last - 1 :])
    if len(before) > _WIDEST - 40:
        before = "..." + before[len(before) - 60 :]
    if len(marked) > _WIDEST:
        marked, after = marked[:_WIDEST] + "...", ""
    after = after[:_WIDEST]
    carets = "^" * max(len(marked), 1)
    return [
        f"{pad}--> {_printable(str(span))}",
        f"{pad} |",
        f"{line:>{width}} | {before}{marked}{after}".rstrip(),
        f"{pad} | {' ' * len(before)}{carets}",
    ]


def _printable(text: str) -> str:
    return printable(text.replace("\t", _TAB))


def printable(text: str) -> str:
    r"""Return a text without characters that would move a terminal's cursor or change its colours; line endings stay.

    Halves of characters, which stand for bytes of file names, become the characters that these bytes are in UTF-8, or
    escapes such as ``\udcff``.
    """
    if text.isprintable():
        return text
    text = re.sub("[\udc80-\udcff]+", lambda halves: os.fsencode(halves[0]).decode("utf-8", "surrogateescape"), text)
    return "".join(c if c.isprintable() or c == "\n" else _shown(c) for c in text)


def _shown(character: str) -> str:
    is_half = "\ud800" <= character <= "\udfff"
    return f"\\u{ord(character):04x}" if is_half else "\N{REPLACEMENT CHARACTER}"
