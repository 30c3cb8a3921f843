"""The graph: array operations with what numpy gave for one example, and scalars that remember where they come from.

Nothing is recorded or written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Guard", "Node", "Scalar", "Trace", "UntraceableError", "walk"]


class UntraceableError(Exception):
    """A kernel does what a graph cannot hold.

    Args:
        reason: what it does.
        line: the kernel's line, 0 where unknown.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(slots=True, eq=False)
class Node:
    """One array operation.

    Args:
        function: numpy's name of it: "input", "exp", "linalg.inv", "getitem", "setitem", "item" ...
        args: positional arguments: nodes, scalars, plain values, and lists, tuples and slices of these.
        kwargs: keyword arguments likewise.
        value: what numpy gave in the example, which says the shape and dtype.
        line: the kernel's line.
        name: the kernel's variable that held the result, "" where none did.
        is_rank_read: something was decided by its rank.
    """

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: Any
    line: int = 0
    name: str = ""
    is_rank_read: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The result's dtype."""
        return np.asarray(self.value).dtype

    @property
    def ndim(self) -> int:
        """The result's rank; reading it is noted, since what is written then holds for that rank only."""
        self.is_rank_read = True
        return np.ndim(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A number or string known only at the call: an attribute, a size, or what was computed of these.

    Args:
        kind: "attr", "size", "count", "dtype", "binary", "unary", "call", "item" or "const".
        args: the name; (node, axis); node; (operator, left, right); (operator, operand); (function, arguments).
        value: its value in the example.
        is_strong: it is a numpy scalar whose dtype takes part in promotion.
    """

    kind: str
    args: tuple[Any, ...]
    value: Any
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that the kernel asked for and what the answer was in the example."""

    condition: Scalar
    holds: bool
    line: int


@dataclass(slots=True, eq=False)
class Trace:
    """A kernel's graph for one example.

    Args:
        inputs: one node per argument, None where an optional one is left out.
        results: one node per result.
        guards: the conditions that were asked for, in order.
        asks_rank: a rank was read of what the kernel computes itself.
    """

    inputs: tuple[Node | None, ...]
    results: tuple[Node, ...]
    guards: list[Guard] = field(default_factory=list)
    asks_rank: bool = False


def walk(value: Any) -> list[Node]:
    """Return the nodes that a value refers to directly, those of scalars included."""
    if isinstance(value, Node):
        return [value]
    if isinstance(value, Scalar):
        return [node for item in value.args for node in walk(item)]
    if isinstance(value, slice):
        return walk((value.start, value.stop, value.step))
    if isinstance(value, (list, tuple)):
        return [node for item in value for node in walk(item)]
    if isinstance(value, dict):
        return [node for item in value.values() for node in walk(item)]
    return []
