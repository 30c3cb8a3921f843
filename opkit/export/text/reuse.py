"""Reuse: which operations may write their result into an operand that nothing reads any more.

How a framework writes that is its dialect's; an operation is listed only where its result surely has the operand's
shape and dtype, whatever the function is called with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.trace.graph import Node, reads, walk

_POINTWISE = {"negative", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos"}
_POINTWISE |= {"tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"}
_POINTWISE |= {"absolute", "floor", "ceil", "trunc", "sign", "reciprocal"}
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "power")
_COMMUTES = ("add", "multiply")
_REDUCTIONS = {"sum", "prod", "max", "amax", "min", "amin", "mean", "var", "std", "any", "all"}
#: Operations whose results share memory with no operand.
_FRESH = (_POINTWISE | set(INFIX) | _REDUCTIONS | {"maximum", "minimum", "where"}) - {"reshape"}


def reusable(order: Sequence[Node], users: Mapping[int, Sequence[Node]], leaving: Collection[int]) -> dict[int, Node]:
    """Return {id of an operation: the operand whose memory its result may take}.

    Args:
        order: a whole graph, each node after what it reads.
        users: {id of a node: the nodes that read it}.
        leaving: ids of the nodes that are results.

    Returns:
        nothing for a graph with a loop, whose rounds share their operands.
    """
    if any(node.function == "loop" for node in order):
        return {}
    known: dict[int, tuple[str, int]] = {}
    leaves: dict[int, frozenset[int]] = {}
    found: dict[int, Node] = {}
    for node in order:
        inner = reads(node)
        leaves[id(node)] = frozenset().union(*(leaves[id(item)] for item in inner)) if inner else frozenset([id(node)])
        known[id(node)] = _extent(node, known)
        for base in _candidates(node):
            others = [item for item in node.args if item is not base]
            is_within = all(_is_within(item, base, leaves) for item in others)
            extent = known[id(base)]
            is_kept = extent[0] == "whole" and known[id(node)] == extent and id(base) not in leaving
            if is_within and is_kept and _is_last(base, node, others, users):
                found[id(node)] = base
                break
    return found


def _candidates(node: Node) -> list[Node]:
    """Return the operands that an operation could write into: fresh arrays of floats in the result's dtype."""
    # A negation is written as a sign: it costs one pass either way.
    given: tuple[Any, ...] = node.args[:1] if node.function in _POINTWISE - {"negative"} else ()
    if node.function in _ARITHMETIC and len(node.args) == 2:
        given = node.args if node.function in _COMMUTES else node.args[:1]
    made = _POINTWISE | set(_ARITHMETIC)
    if node.kwargs or not given or node.dtype.kind != "f":
        return []
    return [item for item in given if isinstance(item, Node) and item.function in made and item.dtype == node.dtype]


def _is_within(other: Any, base: Node, leaves: Mapping[int, frozenset[int]]) -> bool:
    """Return whether an operand is a number, or made of nothing but what the written one is made of, in its dtype."""
    if isinstance(other, np.ndarray):
        return False
    return not isinstance(other, Node) or (other.dtype == base.dtype and leaves[id(other)] <= leaves[id(base)])


def _is_last(base: Node, node: Node, others: Sequence[Any], users: Mapping[int, Sequence[Node]]) -> bool:
    """Return whether all that reads an array is computed, apart from its memory, before an operation writes into it."""
    before: set[int] = set()
    stack = walk(list(others))
    while stack:
        item = stack.pop()
        if id(item) not in before:
            before.add(id(item))
            stack += reads(item)
    rest = [user for user in users.get(id(base), ()) if user is not node]
    is_once = sum(item is base for item in node.args) == 1
    return is_once and all(id(user) in before and user.function in _FRESH for user in rest)


def _extent(node: Node, known: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
    """Return what is known of a shape: ("whole", of which node), or ("part", of which node it broadcasts to)."""
    operands = [item for item in node.args if isinstance(item, (Node, np.ndarray))]
    if node.function in _REDUCTIONS:
        keeps = arguments(node).get("keepdims", False) is True and isinstance(node.args[0], Node)
        return "part", known[id(node.args[0])][1] if keeps else id(node)
    is_pointwise = node.function in _POINTWISE or node.function in _ARITHMETIC
    if not is_pointwise or not operands or any(isinstance(item, np.ndarray) for item in operands):
        return "whole", id(node)
    extents = {known[id(item)] for item in operands}
    whole = [item for item in extents if item[0] == "whole"]
    if len(extents) == 1:
        return extents.pop()
    return whole[0] if len(whole) == 1 and len({root for _, root in extents}) == 1 else ("whole", id(node))
