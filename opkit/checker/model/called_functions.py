"""Called functions: the functions that user functions lead to within their own modules.

Reads code objects only; nothing is executed and no source is parsed.

Written: the source of user functions and classes, as text and as a syntax tree.

Nothing is executed; what has no source of its own, as a lambda within a larger expression has none, is empty.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from opkit.checker.model.thresholds import SOME
from opkit.checker.model.types import Function


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function, a method or a static method; None for what has no Python code."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def names_in(code: CodeType) -> set[str]:
    """Return the names that a function reads of its module and of objects, with those of the functions within it."""
    names = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, CodeType):
            names |= names_in(value)
    return names


def reached(functions: Iterable[Function]) -> Iterator[Any]:
    """Yield functions, each followed by the functions of its module that it names, and by those that these name.

    Args:
        functions: user functions; what has no Python code is passed over.
    """
    seen: set[int] = set()
    for function in functions:
        yield from _visit(function, seen, SOME)


def _visit(function: Any, seen: set[int], depth: int) -> Iterator[Any]:
    function = getattr(function, "__func__", function)
    code = code_of(function)
    if code is None or id(code) in seen or depth < 0:
        return
    seen.add(id(code))
    yield function
    scope = getattr(function, "__globals__", {})
    for name in sorted(names_in(code)):
        value = scope.get(name)
        if getattr(value, "__module__", None) == getattr(function, "__module__", ""):
            yield from _visit(value, seen, depth - 1)


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
