"""Constants that occur in user functions: hints for the values and sizes at which a kernel may branch.

Reads code objects only; nothing is executed and no source is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from opkit.checker.model.thresholds import (
    CONSTANTS_DEPTH,
    LONGEST_STRING,
)

__all__ = ["constants_of"]


def constants_of(functions: Iterable[Callable[..., Any]]) -> tuple[Any, ...]:
    """Collect the numbers and strings in the code of functions and of the functions of their modules they name.

    Args:
        functions: user functions; what has no Python code is passed over.

    Returns:
        Distinct ints, floats and short strings, in a stable order.

    Example:
        >>> def clip(x):
        ...     return x if x < 7.5 else 7.5
        >>> constants_of([clip])
        (7.5,)
    """
    found: dict[tuple[str, Any], Any] = {}
    seen: set[int] = set()
    for function in functions:
        _visit(function, found, seen, CONSTANTS_DEPTH)
    return tuple(found.values())


def _visit(function: Any, found: dict[tuple[str, Any], Any], seen: set[int], depth: int) -> None:
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or id(code) in seen or depth < 0:
        return
    seen.add(id(code))
    names = _visit_code(code, found)
    scope = getattr(function, "__globals__", {})
    for name in sorted(names):
        value = scope.get(name)
        if _is_constant(value):
            found.setdefault((type(value).__name__, value), value)
        elif getattr(value, "__module__", None) == getattr(function, "__module__", ""):
            _visit(value, found, seen, depth - 1)


def _visit_code(code: CodeType, found: dict[tuple[str, Any], Any]) -> set[str]:
    names = set(code.co_names)
    doc = code.co_consts[0] if code.co_consts else None
    stack = list(code.co_consts)
    while stack:
        value = stack.pop(0)
        if isinstance(value, CodeType):
            names |= _visit_code(value, found)
        elif isinstance(value, (tuple, frozenset)):
            stack.extend(sorted(value, key=repr))
        elif _is_constant(value) and not (isinstance(value, str) and value is doc):
            found.setdefault((type(value).__name__, value), value)
    return names


def _is_constant(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        return value == value
    return isinstance(value, str) and 0 < len(value) <= LONGEST_STRING
