"""The writer: a graph becomes statements, each operation as the dialect says, small ones within others.

Which branch is taken when is not decided here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from opkit.export.signature import safe_name
from opkit.export.text.reuse import reusable
from opkit.export.trace import graph as g
from opkit.export.trace.graph import Node, Scalar, Trace, UntraceableError, extent, sources

ATOM = 10
_LEVELS = {"==": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "|": 2, "^": 3, "&": 4, "+": 6, "-": 6}
_LEVELS |= {"<<": 5, ">>": 5}
_LEVELS |= {"*": 7, "/": 7, "//": 7, "%": 7, "@": 7, "**": 9}
_LONGEST = 64
_MOST_CONSTANTS = 256


class Dialect(ABC):
    """How a framework writes array operations."""

    #: The module's name in the file.
    module: str

    @abstractmethod
    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node and its binding strength; statements before it go to the writer.

        Raises:
            UntraceableError: the framework has no form of it.
        """

    @abstractmethod
    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return a dtype's name in the file."""

    @abstractmethod
    def cast(self, text: str, dtype: str) -> str:
        """Return a value cast to a dtype."""

    @abstractmethod
    def constant(self, writer: Writer, array: np.ndarray) -> str:
        """Return a constant array."""

    def own(self, writer: Writer, node: Node) -> str:
        """Return a value as a variable that a loop may write to."""
        return writer.text(node)

    @abstractmethod
    def count(self, text: str) -> str:
        """Return the number of elements of an array."""


class Writer:
    """Writes one trace as the body of a function.

    Args:
        trace: the graph.
        dialect: the framework's way.
        safe: {argument or attribute: its name in the file}.
        reuses: memory is taken again where nothing reads it any more. Only where nobody differentiates the body itself.
    """

    def __init__(self, trace: Trace, dialect: Dialect, safe: Mapping[str, str], *, reuses: bool = False) -> None:
        self.trace = trace
        self.dialect = dialect
        self.safe = safe
        self.lines: list[str] = []
        self.texts: dict[int, tuple[str, int]] = {}
        self.used: set[str] = set(safe.values())
        self.uses: Counter[int] = Counter()
        self.users: dict[int, list[Node]] = {}
        self.named: set[int] = set()
        self.rounds: dict[int, str] = {}
        self.targets: dict[int, str] = {}
        self.collected: set[int] = set()
        self.leaving: set[int] = {id(node) for node in trace.results}
        self.order = self.scope(list(trace.results), frozenset())
        self.reused = reusable(self.order, self.users, self.leaving) if reuses else {}
        for node in trace.results:
            self.uses[id(node)] += 1

    def scope(self, wanted: list[Node], outside: frozenset[int]) -> list[Node]:
        """Return the nodes that some need, each after what it needs, and note who uses what."""
        order = ordered(wanted, outside)
        for node in order:
            read = g.reads(node)
            for item in read:
                self.uses[id(item)] += 1
                self.users.setdefault(id(item), []).append(node)
            self.named.update(id(item) for item in _of_scalars((node.args, node.kwargs)))
            if node.function == "loop":
                self.named.update(id(item) for item in read)
                for _, first, last in node.args[0].carried:
                    if isinstance(first, Node):
                        first.name = first.name or last.name
        return order

    def body(self) -> list[str]:
        """Return the statements, the return included."""
        for node in self.trace.inputs:
            if node is not None:
                self.texts[id(node)] = (self.safe[node.args[0]], ATOM)
        self.statements(self.order)
        found = []
        for index, node in enumerate(self.trace.results):
            is_again = any(node is other for other in self.trace.results[:index])
            text = self.text(node)
            found.append(self.copy(text) if is_again or node.function == "input" else text)
        return [*self.lines, f"return {', '.join(found)}"]

    def copy(self, text: str) -> str:
        """Return a copy of an array."""
        return f"{text}.clone()" if self.dialect.module == "torch" else text

    def statements(self, order: list[Node]) -> None:
        """Write some nodes in their order."""
        for node in order:
            if node.function == "loop":
                left = [item for item in order if item.function in ("after", "collected") and item.args[0] is node]
                self.loop(node, left)
            elif node.function not in ("input", "carried", "after", "collected"):
                self._write(node)

    def loop(self, node: Node, left: list[Node]) -> None:
        """Write a loop, and what it leaves; ``rounds`` provides it."""
        raise NotImplementedError

    def _write(self, node: Node) -> None:
        text, level = self.dialect.operation(self, node)
        is_final = any(node is item for item in self.trace.results) and len(self.trace.results) == 1
        keeps = id(node) in self.named or self.uses[id(node)] > 1
        target = self.targets.get(id(node))
        if target is not None and text != target:
            self.lines.append(f"{target} = {text}")
            text, level = target, ATOM
        elif not text.isidentifier() and not is_final and (keeps or node.name or len(text) > _LONGEST):
            name = self.fresh(node.name)
            self.lines.append(f"{name} = {text}")
            text, level = name, ATOM
        self.texts[id(node)] = (text, level)

    def fresh(self, wanted: str = "") -> str:
        """Return an unused variable, called as in the kernel where that is free."""
        base = safe_name(wanted) if wanted else "t"
        name, number = base, 1
        while name in self.used:
            name, number = f"{base}{number}", number + 1
        self.used.add(name)
        return name

    # --- values
    def text(self, value: Any, level: int = 0) -> str:
        """Return any noted value as an expression that binds at least as strongly as ``level``."""
        if isinstance(value, Node):
            text, own = self.texts[id(value)]
            return text if own >= level else f"({text})"
        if isinstance(value, Scalar):
            text, own = self.scalar(value)
            return text if own >= level else f"({text})"
        if isinstance(value, tuple):
            inner = ", ".join(self.text(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, list):
            return f"[{', '.join(self.text(item) for item in value)}]"
        if isinstance(value, np.ndarray):
            if value.size > _MOST_CONSTANTS:
                raise UntraceableError(f"holds a constant array of {value.size} elements")
            return self.dialect.constant(self, value)
        if isinstance(value, (np.dtype, type)):
            return self.dialect.dtype(np.dtype(value))
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and (value != value or value in (np.inf, -np.inf)):
            return f'float("{value}")'
        text = repr(value)
        return f"({text})" if text.startswith("-") and level > 8 else text

    def scalar(self, value: Scalar) -> tuple[str, int]:
        """Return a scalar's expression and binding strength."""
        kind, args = value.kind, value.args
        if kind == "attr":
            return self.safe[args[0]], ATOM
        if kind == "const":
            text = self.text(args[0])
            return text, 8 if text.startswith("-") else ATOM
        if kind == "size":
            return self._size(args[0], args[1]), ATOM
        if kind == "shape":
            return f"{self.text(args[0], ATOM)}.shape", ATOM
        if kind == "dtype of":
            return f"{self.text(args[0], ATOM)}.dtype", ATOM
        if kind == "dtype":
            return f"{self.text(args[0], ATOM)}.dtype == {self.dialect.dtype(np.dtype(args[1]))}", 1
        if kind == "count":
            return self.dialect.count(self.text(args[0], ATOM)), ATOM
        if kind == "item":
            return f"{self.text(args[0], ATOM)}[{self.text(args[1])}]", ATOM
        if kind == "round":
            if id(args[0]) not in self.rounds:
                raise UntraceableError("reads a number of a single round after a loop over a size or an attribute")
            return self.rounds[id(args[0])], ATOM
        if kind == "unary":
            return f"-{self.text(args[1], 8)}", 8
        if kind == "binary":
            level = _LEVELS[args[0]]
            return f"{self.text(args[1], level)} {args[0]} {self.text(args[2], level + 1)}", level
        if kind != "call":
            raise UntraceableError(f"needs the {kind} of an array, which has no form in the target")
        function = args[0].replace("np.", "math.").replace("math.absolute", "abs").replace("math.minimum", "min")
        function = function.replace("math.maximum", "max").replace("math.arctan2", "math.atan2")
        if function.startswith("math.") and not hasattr(__import__("math"), function[5:]):
            raise UntraceableError(f"calls np.{function[5:]} on a number that is known only at the call")
        return f"{function}({', '.join(self.text(item) for item in args[1:])})", ATOM

    def _size(self, node: Node, axis: Any) -> str:
        if id(node) in self.texts:
            return f"{self.text(node, ATOM)}.shape[{self.text(axis)}]"
        known = extent(node, axis)
        if known is not None:
            return self.text(known, ATOM)
        read = sources(node)
        if read is None or any(id(item) not in self.texts for item in read):
            raise KeyError("the size of a value that the kernel computes")
        shapes = ", ".join(f"{self.text(item, ATOM)}.shape" for item in read)
        return f"{self.dialect.module}.broadcast_shapes({shapes})[{self.text(axis)}]"

    # --- elementwise operations
    def operands(self, node: Node, loop: np.dtype[Any]) -> list[Any]:
        """Return (value, cast text or None) of each operand: cast where the frameworks would promote differently."""
        found: list[Any] = []
        for item in node.args:
            if not isinstance(item, (Node, np.ndarray)):
                found.append(item)
                continue
            dtype = item.dtype
            others = [other for other in node.args if other is not item and isinstance(other, (Node, np.ndarray))]
            is_led = any(other.dtype == loop and np.ndim(_value(other)) >= np.ndim(_value(item)) for other in others)
            is_left = is_led and (dtype.kind == "i" or (dtype.kind == "b" and node.function == "multiply"))
            if dtype == loop or (is_left and loop.kind == "f"):
                found.append(item)
            else:
                found.append(Cast(item, loop))
        return found

    def operand(self, value: Any, level: int = 0) -> str:
        """Return an operand as ``operands`` gives it."""
        if isinstance(value, Cast):
            return self.dialect.cast(self.text(value.value, ATOM), self.dialect.dtype(value.dtype))
        return self.text(value, level)

    def infix(self, node: Node, sign: str, loop: np.dtype[Any]) -> tuple[str, int]:
        """Return a binary operation as ``a + b``."""
        level = _LEVELS[sign]
        left, right = self.operands(node, loop)
        is_power = sign == "**"
        first = self.operand(left, level + 1 if is_power else level)
        return f"{first} {sign} {self.operand(right, level if is_power else level + 1)}", level


class Cast:
    """An operand that is cast first."""

    def __init__(self, value: Any, dtype: np.dtype[Any]) -> None:
        self.value = value
        self.dtype = dtype


def _value(item: Any) -> Any:
    return item.value if isinstance(item, Node) else item


def ordered(wanted: list[Node], outside: frozenset[int] = frozenset()) -> list[Node]:
    """Return the nodes that some need, each after what it needs, down to those outside."""
    found: list[Node] = []
    seen: set[int] = set(outside)
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(wanted)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            found.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack.extend((item, False) for item in reversed(g.reads(node)))
    return found


def _of_scalars(value: Any) -> list[Node]:
    if isinstance(value, Scalar):
        return g.walk(value)
    if isinstance(value, slice):
        return _of_scalars((value.start, value.stop, value.step))
    if isinstance(value, (list, tuple)):
        return [node for item in value for node in _of_scalars(item)]
    if isinstance(value, dict):
        return [node for item in value.values() for node in _of_scalars(item)]
    return []
