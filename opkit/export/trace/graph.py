"""The graph: array operations with what numpy gave for one example, and scalars that remember where they come from.

Nothing is recorded or written here.

Extents: the size of one axis of a computed value, by the sizes of what it is computed from.

Only what holds for every rank stands here; sizes that depend on more stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import field
from typing import Any

import numpy as np

from opkit.record import entity, mutable_entity, record


class UntraceableError(Exception):
    """A kernel does what a graph cannot hold.

    Args:
        reason: what it does.
        line: the kernel's line, 0 where unknown; one that is raised while a kernel is traced gets the running one.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class UnknownLengthError(UntraceableError, TypeError):
    """A kernel asks for a length that is known only at the call; ``tuple`` and ``list`` then iterate without it."""


@mutable_entity
class Node:
    """One array operation.

    Args:
        function: numpy's name of it: "input", "exp", "linalg.inv", "getitem", "setitem", "item" ...
        args: positional arguments: nodes, scalars, plain values, and lists, tuples and slices of these.
        value: what numpy gave in the example, which says the shape and dtype.
        kwargs: keyword arguments like ``args``.
        line: the kernel's line; the recorder fills it in.
        name: the kernel's variable that held the result, "" where none did.
        is_rank_read: something was decided by its rank.
    """

    function: str
    args: tuple[Any, ...]
    value: Any
    kwargs: dict[str, Any] = field(default_factory=dict)
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


@entity
class Scalar:
    """A number or string known only at the call: an attribute, a size, or what was computed of these.

    Args:
        kind: "attr", "size", "stride", "count", "dtype", "binary", "unary", "call", "item", "round" or "const".
        args: the name; (node, axis); node; (operator, left, right); (operator, operand); (function, arguments); a loop.
        value: its value in the example.
        is_strong: it is a numpy scalar whose dtype takes part in promotion.
    """

    kind: str
    args: tuple[Any, ...]
    value: Any
    is_strong: bool = False


@record
class Guard:
    """What the kernel asked of a scalar and what the answer was in the example: a truth, or the value itself."""

    condition: Scalar
    holds: Any
    line: int


@mutable_entity
class Loop:
    """A loop of the kernel over a range that is known only at the call.

    Args:
        bounds: start, stop and step.
        is_reversed: the range is run through from its end.
        name: the kernel's variable.
        rounds: the nodes of each round of the example, in the order in which they were noted.
        body: the nodes of one round, which stand for all.
        carried: (node that stands for a value at the begin of a round, its first value, the body's node that follows).
    """

    bounds: tuple[Any, Any, Any]
    is_reversed: bool = False
    name: str = ""
    rounds: list[list[Node]] = field(default_factory=list)
    body: list[Node] = field(default_factory=list)
    carried: list[tuple[Node, Any, Node]] = field(default_factory=list)

    def outer(self) -> list[Node]:
        """Return the nodes from outside that the loop reads."""
        inside = {id(node) for node in self.body} | {id(held) for held, _, _ in self.carried}
        read = walk(self.bounds) + walk([first for _, first, _ in self.carried])
        read += [item for node in self.body for item in reads(node)]
        return [node for node in read if id(node) not in inside]


@mutable_entity
class Trace:
    """A kernel's graph for one example.

    Args:
        inputs: one node per argument, None where an optional one is left out.
        results: one node per result.
        guards: the conditions that were asked for, in order.
        asks_rank: a rank was read of what the kernel computes itself.
        is_short: a loop had fewer than two rounds, so that it is not known what a round takes from the one before.
    """

    inputs: tuple[Node | None, ...]
    results: tuple[Node, ...]
    guards: list[Guard] = field(default_factory=list)
    asks_rank: bool = False
    is_short: bool = False


def walk(value: Any) -> list[Node]:
    """Return the nodes that a value refers to directly, those of scalars and loops included."""
    if isinstance(value, Node):
        return [value]
    if isinstance(value, Scalar):
        return [node for item in value.args for node in walk(item)] if value.kind != "round" else []
    if isinstance(value, Loop):
        return value.outer()
    if isinstance(value, slice):
        return walk((value.start, value.stop, value.step))
    if isinstance(value, (list, tuple)):
        return [node for item in value for node in walk(item)]
    if isinstance(value, dict):
        return [node for item in value.values() for node in walk(item)]
    return []


def reads(node: Node) -> list[Node]:
    """Return the nodes that one reads directly: of what a loop leaves, the loop."""
    return walk(node.args[:1] if node.function in ("after", "collected") else (node.args, node.kwargs))


def concerns(value: Any, kinds: Container[str]) -> bool:
    """Return whether a scalar is made of one of certain kinds."""
    if not isinstance(value, Scalar):
        return False
    return value.kind in kinds or any(concerns(item, kinds) for item in value.args)


def rebuilt(value: Any, replace: Callable[[Node], Node]) -> Any:
    """Return a value with its nodes replaced; what holds none of the replaced ones stays the same object."""
    if isinstance(value, Node):
        return replace(value)
    if isinstance(value, Scalar):
        args = tuple(rebuilt(item, replace) for item in value.args) if value.kind != "round" else value.args
        is_same = all(one is other for one, other in zip(args, value.args))
        return value if is_same else Scalar(value.kind, args, value.value, value.is_strong)
    if isinstance(value, Loop):
        value.bounds = rebuilt(value.bounds, replace)
        value.carried = [(held, rebuilt(first, replace), last) for held, first, last in value.carried]
        for node in value.body:
            node.args, node.kwargs = rebuilt(node.args, replace), rebuilt(node.kwargs, replace)
        return value
    if isinstance(value, slice):
        return slice(*(rebuilt(item, replace) for item in (value.start, value.stop, value.step)))
    if isinstance(value, tuple):
        items = tuple(rebuilt(item, replace) for item in value)
        return value if all(one is other for one, other in zip(items, value)) else items
    if isinstance(value, list):
        return [rebuilt(item, replace) for item in value]
    if isinstance(value, dict):
        return {key: rebuilt(item, replace) for key, item in value.items()}
    return value


def constant_scalar(value: Any) -> Scalar:
    """Return the scalar of a plain value."""
    if isinstance(value, np.generic):
        return Scalar("const", (value.item(),), value, True)
    return Scalar("const", (value,), value)


#: Functions whose result is as large as what they are given together.
_ELEMENTWISE = {"where", "clip", "astype", "copy", "zeros_like", "ones_like", "empty_like", "full_like", "nan_to_num"}


def sources(node: Node) -> list[Node] | None:
    """Return the inputs that broadcast to the shape of a value computed element by element, None of another value."""
    if node.function == "input":
        return [node]
    if node.function not in _ELEMENTWISE and not isinstance(getattr(np, node.function, None), np.ufunc):
        return None
    if node.function == "matmul":
        return None
    args = node.args[:1] if node.function.endswith("_like") or node.function == "astype" else node.args
    found: list[Node] = []
    for item in walk([arg for arg in args if isinstance(arg, Node)]):
        more = sources(item)
        if more is None:
            return None
        found += [source for source in more if not any(source is other for other in found)]
    return found or None


_SAME_SHAPE = {"sort", "argsort", "cumsum", "cumprod", "flip", "roll", "copy", "astype", "put_along_axis", "setitem"}
_SAME_SHAPE |= {"zeros_like", "ones_like", "empty_like", "full_like", "tril", "triu", "add.at", "subtract.at"}


def extent(node: Node, axis: Any) -> Scalar | None:
    """Return the size of an axis as that of another value or as what made it; None where that is not known.

    Args:
        node: a computed value.
        axis: a plain int, or a scalar that is known only at the call.
    """
    if not isinstance(axis, int) or not node.args:
        return None
    first, name = node.args[0], node.function
    if name in _SAME_SHAPE and isinstance(first, Node):
        return _size(first, axis)
    if name == "transpose" and isinstance(first, Node):
        axes = node.args[1] if len(node.args) > 1 else node.kwargs.get("axes")
        if axes is None:
            return _size(first, -1 - axis)
        is_plain = isinstance(axes, (tuple, list)) and all(isinstance(item, int) for item in axes)
        return _size(first, axes[axis]) if is_plain else None
    if name == "stack" and isinstance(first, (tuple, list)) and node.kwargs.get("axis", 0) == 0 and axis >= 0:
        if axis == 0:
            return Scalar("const", (len(first),), len(first))
        return _size(first[0], axis - 1) if isinstance(first[0], Node) else None
    shape = node.args[1] if name in ("broadcast_to", "reshape") and len(node.args) > 1 else None
    if name in ("zeros", "ones", "empty", "full"):
        shape = first
    return _of_shape(shape, axis)


def _of_shape(shape: Any, axis: int) -> Scalar | None:
    """Return an entry of a shape that is written out, None of -1 and of another shape."""
    if not isinstance(shape, (tuple, list)) or not -len(shape) <= axis < len(shape):
        return None
    item = shape[axis]
    if isinstance(item, Scalar):
        return item
    return Scalar("const", (item,), item) if isinstance(item, int) and item >= 0 else None


def _size(node: Node, axis: int) -> Scalar:
    return Scalar("size", (node, axis), np.shape(node.value)[axis])
