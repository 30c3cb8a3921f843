"""Constants that occur in user functions: hints for the values and sizes at which a kernel may branch.

Reads code objects only; nothing is executed and no source is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import CodeType
from typing import Any

from opkit.checker.model.called_functions import names_in, reached
from opkit.checker.model.thresholds import LONGEST_STRING


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
    for function in reached(functions):
        code = function.__code__
        scope = getattr(function, "__globals__", {})
        for value in chain(_values_in(code), map(scope.get, sorted(names_in(code)))):
            if _is_constant(value):
                found.setdefault((type(value).__name__, value), value)
    return tuple(found.values())


def _values_in(code: CodeType) -> Iterator[Any]:
    """Yield what stands in a function's code, and in that of functions in it, without its docstring."""
    doc = code.co_consts[0] if code.co_consts else None
    stack = [value for value in code.co_consts if value is not doc or not isinstance(doc, str)]
    while stack:
        value = stack.pop(0)
        if isinstance(value, CodeType):
            yield from _values_in(value)
        elif isinstance(value, (tuple, frozenset)):
            stack.extend(sorted(value, key=repr))
        else:
            yield value


def _is_constant(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        return value == value
    return isinstance(value, str) and 0 < len(value) <= LONGEST_STRING
