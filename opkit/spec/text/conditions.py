"""The integer expressions of ``#if``; macros in them are already expanded.

Unknown names count as 0, as in C++.

Includes: which header is opkit's own business, and where the others are found on disk.

Headers of OneFlow's framework are never read: what definitions use of them is built into the compiler.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path

from opkit.spec.text.lexer import CHAR, IDENT, NUMBER, Token


class _BadError(Exception):
    """The tokens are not integer expression."""


_LEVELS: list[dict[str, Callable[[int, int], int]]] = [
    {"||": lambda a, b: bool(a or b)},
    {"&&": lambda a, b: bool(a and b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _divide(a, b), "%": lambda a, b: a - b * _divide(a, b)},
]
_MASK = (1 << 64) - 1


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise _BadError
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def ternary(self) -> int:
        self.depth += 1
        if self.depth > 100:
            raise _BadError
        value = self.binary(0)
        if self.peek() == "?":
            self.at += 1
            then = self.ternary()
            if self.peek() != ":":
                raise _BadError
            self.at += 1
            otherwise = self.ternary()
            value = then if value else otherwise
        self.depth -= 1
        return value

    def binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            operation = _LEVELS[level][self.peek()]
            self.at += 1
            value = int(operation(value, self.binary(level + 1)))
            if abs(value) > _MASK:
                value &= _MASK
        return value

    def unary(self) -> int:
        if self.at >= len(self.tokens):
            raise _BadError
        negations = []
        while self.peek() in ("!", "-", "+", "~"):
            negations.append(self.peek())
            self.at += 1
        value = self.primary()
        for sign in reversed(negations):
            value = {"!": int(not value), "-": -value, "+": value, "~": ~value}[sign]
        return value

    def primary(self) -> int:
        if self.at >= len(self.tokens):
            raise _BadError
        token = self.tokens[self.at]
        self.at += 1
        if token.text == "(":
            value = self.ternary()
            if self.peek() != ")":
                raise _BadError
            self.at += 1
            return value
        if token.kind == NUMBER:
            return _number(token.text)
        if token.kind == CHAR and len(token.text) == 3:
            return ord(token.text[1])
        if token.kind == IDENT:
            if self.peek() == "(":
                raise _BadError
            return int(token.text == "true")
        raise _BadError


def _number(text: str) -> int:
    digits = text.replace("'", "").rstrip("uUlL")
    try:
        return int(digits, 8) if digits.startswith("0") and digits.isdigit() else int(digits, 0)
    except ValueError:
        raise _BadError from None


def evaluate_condition(tokens: list[Token]) -> int | None:
    """Return the value of a ``#if`` condition, None where it is not an integer expression."""
    reader = _Reader(tokens)
    try:
        value = reader.ternary()
    except (_BadError, RecursionError):
        return None
    return value if reader.at == len(tokens) else None


_BUILT_IN_PREFIXES = (
    "oneflow/core/",
    "oneflow/user/kernels/",
    "oneflow/user/utils/",
    "oneflow/user/image/",
    "oneflow/user/data/",
    "oneflow/user/ops/nn_util.h",
    "oneflow/user/ops/reshape_user_op_util.h",
    "oneflow/user/ops/comm_net_device_infer_util.h",
)


def is_built_in(name: str) -> bool:
    """Return whether a header's contents are built into the compiler."""
    return name.startswith(_BUILT_IN_PREFIXES)


def find_include(name: str, includer: str, folders: tuple[str, ...]) -> Path | None:
    """Find a quoted include: beside the including file, in the given folders, then in its ancestors.

    The ancestors serve sources in their own tree, where includes are written from the tree's root.
    """
    if "\0" in name or Path(name).is_absolute():
        return None
    beside = Path(includer).parent
    try:
        for folder in (beside, *map(Path, folders), *list(beside.absolute().parents)[:8]):
            found = folder / name
            if found.is_file():
                return found
    except OSError:
        return None
    return None
