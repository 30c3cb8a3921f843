"""Walking syntax: what a piece of it holds, and whether it may change a variable.

Nothing is lowered here.
"""

from __future__ import annotations

from typing import Any

from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Expr, Member, Name, Node


def streamed_head(node: Expr) -> tuple[Expr, list[Expr]]:
    """Split ``head << a << b`` into the head and its operands."""
    operands: list[Expr] = []
    while isinstance(node, syntax.Binary) and node.op == "<<":
        operands.append(node.right)
        node = node.left
    operands.reverse()
    return node, operands


def comma_parts(node: Expr) -> list[Expr]:
    """Return the parts of ``a, b, c``."""
    parts: list[Expr] = []
    while isinstance(node, syntax.Binary) and node.op == ",":
        parts.append(node.right)
        node = node.left
    parts.append(node)
    return parts[::-1]


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    for name in type(node).__dataclass_fields__:
        item = getattr(node, name)
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, tuple):
            found += _nested(item)
    return found


def _nested(items: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, tuple):
            found += _nested(item)
    return found


def walk(node: Node) -> list[Node]:
    """Return a piece of syntax and everything in it."""
    found, stack = [], [node]
    while stack:
        item = stack.pop()
        found.append(item)
        stack += _children(item)
    return found


def _is_named(node: Expr, name: str) -> bool:
    return isinstance(node, Name) and len(node.parts) == 1 and node.parts[0].text == name


def changes(body: Node, name: str) -> bool:
    """Return whether a piece of syntax may change a variable."""
    for node in walk(body):
        if isinstance(node, syntax.Assign) and _is_named(node.left, name):
            return True
        if (
            isinstance(node, (syntax.Unary, syntax.Postfix))
            and node.op in ("++", "--", "&")
            and _is_named(node.operand, name)
        ):
            return True
    return False


def is_fixed(bound: Expr, body: Node, counter: str) -> bool:
    """Return whether a loop's bound cannot change while the loop runs."""
    if changes(body, counter):
        return False
    names = {node.parts[0].text for node in walk(bound) if isinstance(node, Name)}
    if counter in names:
        return False
    if any(changes(body, name) for name in names):
        return False
    if any(isinstance(node, Call) for node in walk(bound)):
        # a size may change through calls on the same object
        for node in walk(body):
            if isinstance(node, Member) and node.name.text in _GROWING:
                return False
            if isinstance(node, syntax.Assign):
                return False
    return True


_GROWING = frozenset(
    {"push_back", "emplace_back", "insert", "erase", "resize", "clear", "pop_back", "emplace", "assign"}
)
