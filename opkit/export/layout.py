"""Layout: the parts of an exported file in their order, and its lines kept short.

What the parts say is the frameworks' modules' business.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

_WIDTH = 100


def document(parts: Sequence[str]) -> str:
    """Join parts by two blank lines and check that they are Python."""
    text = "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
    ast.parse(text)
    return text


def call(head: str, args: Sequence[str], tail: str = "") -> str:
    """Return ``head(args)tail``, one argument a line where it does not fit."""
    line = f"{head}({', '.join(args)}){tail}"
    if len(line) <= _WIDTH:
        return line
    indent = head[: len(head) - len(head.lstrip())]
    inner = "".join(f"{indent}    {arg},\n" for arg in args)
    return f"{head}(\n{inner}{indent}){tail}"


def short(line: str) -> list[str]:
    """Return a statement of inference as lines; what it raises is written with a piece of its message a line.

    Args:
        line: one line of a statement, indented.
    """
    bare = line.lstrip()
    if not bare.startswith("raise ValueError("):
        return [line]
    indent = line[: len(line) - len(bare)]
    statement = ast.parse(bare).body[0]
    assert isinstance(statement, ast.Raise)
    assert isinstance(statement.exc, ast.Call)
    words = _words(statement.exc.args[0])
    whole = f"{indent}raise ValueError({_quoted(words)})"
    if len(whole) <= _WIDTH:
        return [whole]
    lines: list[str] = []
    piece: list[tuple[str, bool]] = []
    for word in words:
        if piece and len(_quoted([*piece, word])) > _WIDTH - len(indent) - 4:
            lines.append(f"{indent}    {_quoted(piece)}")
            piece = []
        piece.append(word)
    return [f"{indent}raise ValueError(", *lines, f"{indent}    {_quoted(piece)}", f"{indent})"]


def _words(message: ast.expr) -> list[tuple[str, bool]]:
    """Return the words of a message, and of its expressions as text: (text, is it an expression)."""
    found: list[tuple[str, bool]] = []
    for part in message.values if isinstance(message, ast.JoinedStr) else [message]:
        if isinstance(part, ast.Constant):
            found += [(word, False) for word in re.findall(r"\S*\s+|\S+", str(part.value))]
        elif isinstance(part, ast.FormattedValue):
            found.append((ast.unparse(part.value), True))
        else:
            found.append((ast.unparse(part), True))
    return found


def _quoted(words: Sequence[tuple[str, bool]]) -> str:
    is_formatted = any(is_expression for _, is_expression in words)
    text = ""
    for word, is_expression in words:
        escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        text += (
            f"{{{word}}}"
            if is_expression
            else escaped.replace("{", "{{").replace("}", "}}")
            if is_formatted
            else escaped
        )
    return f'{"f" if is_formatted else ""}"{text}"'
