"""Layout: the parts of an exported file in their order, and its lines kept short.

What the parts say is the frameworks' modules' business.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = ["call", "document", "wrapped"]

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


def wrapped(text: str) -> str:
    """Wrap the prose of a docstring."""
    import textwrap

    return "\n".join(textwrap.fill(line, _WIDTH - 4, subsequent_indent="    ") for line in text.splitlines())
