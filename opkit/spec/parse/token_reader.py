"""TokenReader: a position in the tokens, what is expected there, and how mistakes are reported.

No grammar here.

Brackets: which one is open where a text stopped making sense, for the second label of a finding.

Nothing is parsed: the nesting and the indentation are all that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from opkit.diagnostics import Note
from opkit.spec.findings import Findings
from opkit.spec.parse.syntax import Node, Tree
from opkit.spec.text.lexer import END, IDENT, Token

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


_Item = TypeVar("_Item")

#: How deep blocks, parentheses and template arguments may nest.
DEEPEST = 60


class ParseError(Exception):
    """A mistake at a token; the parser reports it and continues after the statement or item."""

    def __init__(self, code: str, message: str, at: int, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.help = help


class TokenReader:
    """Tokens as parallel lists (texts and kinds) with the index of the next one."""

    def __init__(self, tokens: list[Token], findings: Findings) -> None:
        # three END tokens, so that looking two tokens ahead needs no test
        self.tokens = [*tokens, tokens[-1], tokens[-1]]
        self.texts = [token.text if token.kind != "string" else '"' for token in self.tokens]
        self.kinds = [token.kind for token in self.tokens]
        self.findings = findings
        self.at = 0
        self.depth = 0
        self.tree = Tree(self.tokens)
        #: names whose address is taken, and (function, place, name) of plain names passed to functions
        self.addressed: set[str] = set()
        self.passed: list[tuple[str, int, str]] = []
        self.reference_places: set[tuple[str, int]] = set()

    @property
    def here(self) -> str:
        """Text of the next token; a string literal reads as one quote."""
        return self.texts[self.at]

    @property
    def is_name(self) -> bool:
        """Whether the next token is an identifier."""
        return self.kinds[self.at] == IDENT

    @property
    def is_end(self) -> bool:
        """Whether the file ends here."""
        return self.kinds[self.at] == END

    def deepen(self) -> None:
        """Count one more level of nesting, and refuse it past the bound."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ParseError("SPEC011", f"nested more than {DEEPEST} deep", self.at, "split it into helper functions")

    def step(self) -> int:
        """Step over a token and return its index."""
        self.at += 1
        return self.at - 1

    def accept(self, *texts: str) -> bool:
        """Step over a token if it is one of these; return whether it was."""
        if self.texts[self.at] not in texts:
            return False
        self.at += 1
        return True

    def several(self, item: Callable[[], _Item], closing: str) -> tuple[_Item, ...]:
        """Parse items with commas between them, up to and with what closes them."""
        items: list[_Item] = []
        while self.here != closing:
            items.append(item())
            if not self.accept(","):
                break
        self.expect(closing)
        return tuple(items)

    def between(self, opening: str, item: Callable[[], _Item], closing: str) -> _Item:
        """Parse one item in brackets."""
        self.expect(opening)
        found = item()
        self.expect(closing)
        return found

    def expect(self, text: str) -> None:
        """Step over a token that must be there."""
        if self.texts[self.at] != text:
            raise self.expected(f"'{text}'")
        self.at += 1

    def take_name(self) -> str:
        """Step over an identifier and return it."""
        if not self.is_name:
            raise self.expected("a name")
        return self.texts[self.step()]

    def expected(self, what: str) -> ParseError:
        """Make the error for a token that is not there, placed after the last one where that reads better."""
        token = self.tokens[self.at]
        if what == "';'" and token.first and self.at:
            return ParseError("SPEC010", f"expected ';' after '{self.tokens[self.at - 1].text}'", self.at - 1)
        found = "the end of the file" if token.kind == END else f"'{token.text}'"
        return ParseError("SPEC010", f"expected {what} before {found}", self.at)

    def wrong(self, message: str, at: int, help: str = "") -> ParseError:
        """Make an error about a given token."""
        return ParseError("SPEC010", message, at, help)

    def report(self, code: str, message: str, at: int, start: int | None = None, help: str = "") -> None:
        """Add a finding about one token, with the macro it came from and the bracket that is open since ``start``."""
        node = Node(at, at)
        opened = None if start is None or code != "SPEC010" else open_bracket(self.tokens, start, self.at, message)
        if opened is not None and opened.span == self.tree.span(node):
            opened = None
        self.findings.add(code, message, self.tree.span(node), self.tree.expansion(node), opened, help=help)

    def skip_to_semicolon(self) -> None:
        """Step over everything up to and with the next semicolon outside brackets."""
        depth = 0
        while not self.is_end:
            text = self.here
            self.at += 1
            if text in ("(", "{", "["):
                depth += 1
            elif text in (")", "}", "]"):
                depth -= 1
            elif text == ";" and depth <= 0:
                return
        raise self.expected("';'")

    def skip_braces(self) -> None:
        """Step over a block."""
        depth = 0
        while not self.is_end:
            depth += {"{": 1, "}": -1}.get(self.here, 0)
            self.at += 1
            if depth == 0:
                return
        raise self.expected("'}'")
