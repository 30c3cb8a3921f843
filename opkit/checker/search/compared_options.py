"""Compared options: the values that functions compare an option with, each a branch that a default may never take.

Reads syntax trees only; nothing is executed, and a function whose source is not known is passed over.

Constants that occur in user functions: hints for the values and sizes at which a kernel may branch.

Reads code objects only; nothing is executed and no source is parsed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import CodeType
from typing import Any

from opkit.checker.model.called_functions import names_in, reached, text_of, tree_in
from opkit.checker.model.thresholds import LONGEST_STRING
from opkit.checker.search.attributes import unique

_PLAIN = (bool, int, float, str, type(None))
#: What an option is tried with whose type a function asks for: two axes, or two sizes.
_PAIRS = ((0, 1), (1, 2))


def compared_in(functions: Iterable[Callable[..., Any]]) -> dict[str, tuple[Any, ...]]:
    """Return {name: values that it is compared with}, of parameters, attributes and entries alike.

    Args:
        functions: user functions.

    Returns:
        Plain values, and lists and tuples of them, in the order of the source. A membership test gives the members;
        the keys of a table that is indexed by the name count too, and pairs where it is asked whether it is a tuple, a
        list or one number.
    """
    found: dict[str, list[Any]] = {}
    for function in functions:
        for name, value in _pairs(tree_in(text_of(function))):
            found.setdefault(name, []).append(value)
    return {name: tuple(unique(values)) for name, values in found.items()}


def marks_in(functions: Iterable[Callable[..., Any]]) -> dict[str, tuple[int, ...]]:
    """Return {name: whole numbers that set its values apart}: those it is compared with, and what lies below a bound.

    Args:
        functions: user functions.

    Example:
        ``labels != -100`` gives -100, ``labels >= 0`` gives 0 and -1.
    """
    found: dict[str, list[int]] = {}
    for node in chain(*(ast.walk(tree_in(text_of(function))) for function in functions)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            is_bound = isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
            for name, value in _named(node.left, node.comparators[0]):
                if type(value) is int:
                    found.setdefault(name, []).extend((value, value - 1) if is_bound else (value,))
    return {name: tuple(unique(values)) for name, values in found.items()}


def _pairs(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for operator, left, right in zip(node.ops, sides, sides[1:]):
                yield from _compared(operator, left, right)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                yield from _named(node.slice, key)
        elif isinstance(node, ast.Call) and _name_of(node.func) == "isinstance" and len(node.args) == 2:
            sorts = {_name_of(sort) for sort in getattr(node.args[1], "elts", node.args[1:])}
            kind = list if "list" in sorts and "tuple" not in sorts else tuple
            if sorts & {"tuple", "list", "int"} and _name_of(node.args[0]):
                yield from ((_name_of(node.args[0]), kind(pair)) for pair in _PAIRS)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                for pattern in ast.walk(case.pattern):
                    if isinstance(pattern, ast.MatchValue):
                        yield from _named(node.subject, pattern.value)
                    elif isinstance(pattern, ast.MatchSingleton):
                        yield from _named(node.subject, ast.Constant(pattern.value))


def _compared(operator: ast.cmpop, left: ast.expr, right: ast.expr) -> Iterator[tuple[str, Any]]:
    if isinstance(operator, (ast.In, ast.NotIn)):
        members = right.keys if isinstance(right, ast.Dict) else getattr(right, "elts", ())
        for member in members:
            yield from _named(left, member)
    elif isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        yield from _named(left, right)
        yield from _named(right, left)


def _named(one: ast.expr | None, other: ast.expr | None) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value where one side is a name and the other a constant."""
    name = _name_of(one)
    if not name or other is None:
        return
    try:
        value = ast.literal_eval(other)
    except (ValueError, TypeError, SyntaxError):
        return
    if isinstance(value, _PLAIN) or (isinstance(value, (list, tuple)) and all(isinstance(i, _PLAIN) for i in value)):
        yield name, value


def _name_of(one: ast.expr | None) -> str:
    """Return the name that an expression reads: a variable, an attribute, or an entry like ``attrs["mode"]``."""
    if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "get" and one.args:
        one = ast.Subscript(one.func.value, one.args[0], ast.Load())
    if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant) and isinstance(one.slice.value, str):
        return one.slice.value
    return one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""


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
