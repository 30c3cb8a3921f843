"""Brackets: which one is open where a text stopped making sense, for the second label of a finding.

Nothing is parsed: the nesting and the indentation are all that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from opkit.diagnostics import Note
from opkit.spec.text.lexer import END, Token

_CLOSING = {"(": ")", "[": "]", "{": "}"}


def open_bracket(tokens: Sequence[Token], start: int, at: int, message: str) -> Note | None:
    """Return a note about the bracket that lacks its other half, None where brackets are not what is wrong.

    Args:
        tokens: the file's.
        start: index of the first token of the item.
        at: index of the token that does not fit.
        message: what is said of it.
    """
    opened: list[Token] = []
    suspect: tuple[Token, Token] | None = None
    for token in tokens[start:at]:
        if token.text in _CLOSING and token.kind != "string":
            opened.append(token)
        elif opened and token.text == _CLOSING[opened[-1].text]:
            if suspect is None and _is_askew(opened[-1], token):
                suspect = opened[-1], token
            opened.pop()
    if (
        not opened
        or (suspect is None and message.endswith("never closed"))
        or not _is_about(opened[-1], tokens[at], message)
    ):
        return None
    if suspect is not None:
        line = suspect[1].span.line
        return Note(f"this '{{' may be the open one: the '}}' in line {line} is indented differently", suspect[0].span)
    return Note(f"this '{opened[-1].text}' is still open", opened[-1].span)


def _is_about(opened: Token, token: Token, message: str) -> bool:
    wanted = _CLOSING[opened.text]
    if token.text == wanted:
        return False
    if f"'{wanted}'" in message or token.kind == END or token.text in _CLOSING.values():
        return True
    # A chain of calls that continues where a statement should begin: the function before it is not closed.
    return wanted == "}" and token.text == "." and token.first


def _is_askew(opened: Token, closed: Token) -> bool:
    """Whether a brace that begins its line is indented differently than the line of the brace it closes."""
    if closed.text != "}" or not closed.first or opened.source is not closed.source or closed.origin or opened.origin:
        return False
    first, last = opened.span, closed.span
    line = first.source.line(first.line)
    return first.line != last.line and len(line) - len(line.lstrip()) != last.col - 1
