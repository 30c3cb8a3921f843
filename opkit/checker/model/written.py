"""Written: the source of user functions and classes, as text and as a syntax tree.

Nothing is executed; what has no source of its own, as a lambda within a larger expression has none, is empty.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def text_of(item: Any) -> str:
    """Return the source of a function, a static method, a class or a code object, from the margin on."""
    try:
        return textwrap.dedent(inspect.getsource(getattr(item, "__func__", item)))
    except (OSError, TypeError):
        return ""


def tree_in(text: str) -> ast.Module:
    """Return the syntax tree of a piece of source, an empty one where it is not a whole statement."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])
