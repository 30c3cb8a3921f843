"""Lexer: a SourceText becomes tokens, each with its exact place.

Directives and macros are the preprocessor's business; here ``#`` is a token like any other.
"""

from __future__ import annotations

import re

from opkit.diagnostics import SourceText, Span
from opkit.spec.findings import Findings

IDENT, NUMBER, STRING, CHAR, PUNCT, END = "ident", "number", "string", "char", "punct", "end"

#: One alternative per token class, tried in this order; white space and comments are one class.
#: ``>>`` is two tokens, as template arguments need it; the parser joins them where it shifts.
_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\f\v]+ | \\[ \t]*(?:\r\n|\n|\r) | //(?:[^\n\r\\]+|\\(?:\r\n|.|\n)?)* | /\*(?s:.*?)\*/)+)
  | (?P<line>(?:\r\n|\n|\r)+)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n\r]|\\(?:\r\n|[^\r]))*")
  | (?P<char>[uUL]?'(?:[^'\\\n\r]|\\[^\r\n])+')
  | (?P<ident>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_.])*)
  | (?P<punct>\.\.\.|<<=|->\*|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|\#\#
      |[-{}\[\]()<>;:?.,=+*/%&|^!~\#])
    """,
    re.VERBOSE,
)


_RAW = frozenset({"R", "u8R", "uR", "UR", "LR"})


class Token:
    """One token.

    Attributes:
        kind: IDENT, NUMBER, STRING, CHAR, PUNCT or END.
        text: its characters.
        source, start, end: where it is spelled.
        origin: the outermost macro invocation that brought it here, None outside macros.
        hidden: names of macros that may not expand in it any more.
        first: whether it is the first of its line.
        spaced: whether white space stands before it.
    """

    __slots__ = ("end", "first", "hidden", "kind", "origin", "source", "spaced", "start", "text")

    def __init__(
        self, kind: str, text: str, source: SourceText, start: int, end: int, first: bool, spaced: bool
    ) -> None:
        self.kind = kind
        self.text = text
        self.source = source
        self.start = start
        self.end = end
        self.first = first
        self.spaced = spaced
        self.origin: Token | None = None
        self.hidden: frozenset[str] | None = None

    @property
    def span(self) -> Span:
        """Where the token is spelled."""
        return Span(self.source, self.start, self.end)

    def __repr__(self) -> str:
        return f"Token({self.kind}, {self.text!r})"


def lex(source: SourceText, findings: Findings) -> list[Token]:
    """Return the tokens of a text, ending in one of kind END.

    What is not a token is reported and skipped; nothing raises.
    """
    text = source.text
    tokens: list[Token] = []
    add = tokens.append
    match = _TOKEN.match
    at, size = 0, len(text)
    first, spaced = True, False
    while at < size:
        found = match(text, at)
        if found is None:
            at = _skip_bad(source, at, findings)
            spaced = True
            continue
        kind = found.lastgroup
        end = found.end()
        if kind == "space":
            spaced = True
        elif kind == "line":
            first = True
        else:
            if kind == "punct" and text.startswith("/*", at):
                at = _skip_bad(source, at, findings)
                continue
            if kind == "ident" and text.startswith('"', end) and text[at:end] in _RAW:
                kind, end = STRING, _raw_end(source, at, end, findings)
            add(Token(kind or PUNCT, text[at:end], source, at, end, first, spaced))
            first = spaced = False
        at = end
    add(Token(END, "", source, size, size, True, True))
    return tokens


def _raw_end(source: SourceText, at: int, quote: int, findings: Findings) -> int:
    """Return the offset after the raw string whose prefix starts at ``at``."""
    text = source.text
    open_at = text.find("(", quote, quote + 18)
    end = text.find(")" + text[quote + 1 : open_at] + '"', open_at) if open_at >= 0 else -1
    if end < 0:
        findings.add("SPEC003", "this raw string never ends", source.span(at, quote + 1), help="close it with ')\"'")
        return len(text)
    return text.index('"', end) + 1


def _skip_bad(source: SourceText, at: int, findings: Findings) -> int:
    """Report what cannot start a token and return where to go on."""
    text = source.text
    line_end = at
    while line_end < len(text) and text[line_end] not in "\r\n":
        line_end += 1
    if text.startswith("/*", at):
        findings.add("SPEC003", "this comment is never closed", source.span(at, at + 2), help="close it with '*/'")
        return len(text)
    if text[at] in "\"'":
        what = "string" if text[at] == '"' else "character"
        findings.add(
            "SPEC003",
            f"this {what} literal does not end on its line",
            source.span(at, line_end),
            help=f"close it with {text[at]}",
        )
        return line_end
    end = at + 1
    while end < line_end and _TOKEN.match(text, end) is None and text[end] not in "\"'":
        end += 1
    shown = text[at : min(end, at + 20)]
    findings.add("SPEC004", f"{shown!r} is not part of C++", source.span(at, end), help="remove it")
    return end
