"""Macros: their definitions, the sequence macros of OneFlow, and what # and ## do to tokens.

Directives and the order of expansion are in ``preprocessor``.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.diagnostics import SourceText
from opkit.record import record
from opkit.spec.text.lexer import IDENT, NUMBER, PUNCT, STRING, Token

Tokens = list[Token]

#: Tokens that expansion may make in a whole file.
MOST_TOKENS = 400_000
#: Characters of one token that # or ## makes.
MOST_CHARACTERS = 10_000


class TooManyError(Exception):
    """A macro makes more than it may; the text says of what, "more than 400,000 tokens"."""


def within(count: int) -> None:
    """Refuse a result before it is made."""
    if count > MOST_TOKENS:
        raise TooManyError(f"more than {MOST_TOKENS:,} tokens")


def _short(size: int) -> None:
    """Refuse a token before it is made."""
    if size > MOST_CHARACTERS:
        raise TooManyError(f"a token of more than {MOST_CHARACTERS:,} characters")


@record
class Macro:
    """A ``#define``: its name token, parameters (None for an object-like one) and body."""

    name: Token
    params: tuple[str, ...] | None
    variadic: bool
    body: tuple[Token, ...]


def derived(kind: str, text: str, near: Token, spaced: bool = True) -> Token:
    """Make a token that no file spells; it has the place of the token it came from."""
    made = Token(kind, text, near.source, near.start, near.end, False, spaced)
    made.origin = near.origin
    return made


def stringize(argument: Tokens, near: Token) -> Token:
    """Return the string literal that ``#parameter`` makes of an argument; TooManyError where it is too long."""
    parts: list[str] = []
    size = 0
    for token in argument:
        size += len(token.text)
        _short(size)
        if parts and token.spaced:
            parts.append(" ")
        text = token.text
        parts.append(text.replace("\\", "\\\\").replace('"', '\\"') if token.kind == STRING else text)
    made = '"' + "".join(parts) + '"'
    _short(len(made))
    return derived(STRING, made, near)


def paste(left: Token, right: Token) -> Token | None:
    """Return the token that ``left ## right`` makes, None where they make none; TooManyError where it is too long."""
    _short(len(left.text) + len(right.text))
    text = left.text + right.text
    if left.kind == IDENT and right.kind in (IDENT, NUMBER):
        return derived(IDENT, text, left, left.spaced)
    if left.kind == NUMBER and right.kind in (IDENT, NUMBER):
        return derived(NUMBER, text, left, left.spaced)
    if left.kind == PUNCT and right.kind == PUNCT and text in ("<<", "::", "->", "==", "!=", "&&", "||", "++"):
        return derived(PUNCT, text, left, left.spaced)
    return None


def split_arguments(tokens: Tokens) -> list[Tokens]:
    """Split tokens at their top-level commas; no token at all is one empty argument."""
    parts: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        text = token.text if token.kind == PUNCT else ""
        if text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
        if text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def comma_join(parts: list[Tokens], near: Token) -> Tokens:
    """Join token lists with commas."""
    within(sum(map(len, parts)) + len(parts))
    joined: Tokens = []
    for number, part in enumerate(parts):
        if number:
            joined.append(derived(PUNCT, ",", near))
        joined += part
    return joined


def _sequence(tokens: Tokens) -> list[Tokens]:
    """Split ``(a)(b)(c)`` into the inside each pair of parentheses."""
    items: list[Tokens] = []
    depth = 0
    for token in tokens:
        text = token.text if token.kind == PUNCT else ""
        if text == ")":
            depth -= 1
            if depth == 0:
                continue
        if depth:
            items[-1].append(token)
        if text == "(":
            if depth == 0:
                items.append([])
            depth += 1
    return items


def _call(macro: Tokens, argument: Tokens, near: Token) -> Tokens:
    return [*macro, derived(PUNCT, "(", near), *argument, derived(PUNCT, ")", near)]


def _wrap(argument: Tokens, near: Token) -> Tokens:
    return _call([], argument, near)


def _for_each_tuple(args: list[Tokens], near: Token) -> Tokens:
    items = _sequence(args[1])
    within(len(items) * (len(args[0]) + 4) + len(args[1]))
    out: Tokens = []
    for item in items:
        # an item of OF_PP_MAKE_TUPLE_SEQ is a tuple in parentheses of its own
        inner = _sequence(item)
        out += _call(args[0], inner[0] if inner else item, near)
    return out


def _make_tuple_seq(args: list[Tokens], near: Token) -> Tokens:
    return _wrap(_wrap(comma_join(args, near), near), near)


#: OneFlow's sequence macros: minimum argument count and what they expand to, arguments expanded first.
SEQUENCE_MACROS: dict[str, tuple[int, Callable[[list[Tokens], Token], Tokens]]] = {
    "OF_PP_MAKE_TUPLE_SEQ": (1, _make_tuple_seq),
    "OF_PP_FOR_EACH_TUPLE": (2, _for_each_tuple),
    "OF_PP_STRINGIZE": (1, lambda args, near: [stringize(comma_join(args, near), near)]),
}

#: Sequences of (C++ type, DataType) that OneFlow's headers define, as source text.
_TYPE_SEQUENCES = """
#define OF_COMMA ,
#define FLOATING_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(float, DataType::kFloat) \\
  OF_PP_MAKE_TUPLE_SEQ(double, DataType::kDouble)
#define SIGNED_INT_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(int8_t, DataType::kInt8) \\
  OF_PP_MAKE_TUPLE_SEQ(int32_t, DataType::kInt32) OF_PP_MAKE_TUPLE_SEQ(int64_t, DataType::kInt64)
#define UNSIGNED_INT_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(uint8_t, DataType::kUInt8)
#define INT_DATA_TYPE_SEQ SIGNED_INT_DATA_TYPE_SEQ
#define CHAR_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(char, DataType::kChar)
#define FLOAT16_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(float16, DataType::kFloat16)
#define INDEX_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(int32_t, DataType::kInt32) \\
  OF_PP_MAKE_TUPLE_SEQ(int64_t, DataType::kInt64)
#define ARITHMETIC_DATA_TYPE_SEQ FLOATING_DATA_TYPE_SEQ INT_DATA_TYPE_SEQ
#define POD_DATA_TYPE_SEQ ARITHMETIC_DATA_TYPE_SEQ CHAR_DATA_TYPE_SEQ UNSIGNED_INT_DATA_TYPE_SEQ
#define ALL_DATA_TYPE_SEQ ARITHMETIC_DATA_TYPE_SEQ CHAR_DATA_TYPE_SEQ
#define FLOATING_DATA_TYPE_SEQ_WITH_HALF FLOATING_DATA_TYPE_SEQ FLOAT16_DATA_TYPE_SEQ
"""
#: The text of OneFlow's type sequences, compiled into every preprocessor on first need.
TYPE_SEQUENCES = SourceText(_TYPE_SEQUENCES, "<oneflow/core/common/data_type_seq.h>")
