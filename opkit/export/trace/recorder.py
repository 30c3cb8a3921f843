"""The recorder: runs one kernel, calls numpy on the example's values, and notes each operation as a node.

One recorder is current at a time; arrays and symbols report to it.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from opkit.export.trace.graph import Guard, Node, Scalar, UntraceableError, concerns, constant_scalar, rebuilt
from opkit.record import record

_CURRENT: list[TraceRecorder] = []
_RANDOM = ("random.",)
_REFUSED = {
    "nonzero": "finds places by value, so that its result's size depends on values",
    "flatnonzero": "finds places by value, so that its result's size depends on values",
    "argwhere": "finds places by value, so that its result's size depends on values",
    "unique": "gives as many values as differ, so that its result's size depends on values",
    "compress": "selects by value, so that its result's size depends on values",
    "extract": "selects by value, so that its result's size depends on values",
    "vectorize": "calls Python once per element",
    "apply_along_axis": "calls Python once per row",
    "frompyfunc": "calls Python once per element",
}


def current() -> TraceRecorder:
    """Return the recorder that is at work."""
    if not _CURRENT:
        raise UntraceableError("uses a traced value after the trace has ended")
    return _CURRENT[-1]


@record
class Terms:
    """What a traced kernel holds and calls, made by the modules above.

    Args:
        wrap: makes what the kernel holds of a node.
        unwrap: gives the node or scalar of what the kernel holds, anything else as it is.
        symbol: makes what the kernel holds of a scalar.
        rounds_of: gives the rounds of a loop of so many.
        numpy: the noting numpy.
        lowered: {numpy's name: function of (the noting numpy, its arguments)} of functions that are made of others.
    """

    wrap: Callable[[Node], Any]
    unwrap: Callable[[Any], Any]
    symbol: Callable[[Scalar], Any]
    rounds_of: Callable[[Any], Iterable[Any]]
    numpy: Any
    lowered: Mapping[str, Callable[..., Any]]


class TraceRecorder:
    """Notes what one run of a kernel does.

    Args:
        file: the kernel file, whose lines are named.
        terms: what the kernel holds and calls.
        rolls: loops over attributes stay loops; else their values are taken for granted.
    """

    def __init__(self, file: str, terms: Terms, *, rolls: bool = True) -> None:
        self.file = file
        self.terms = terms
        self.wrap = terms.wrap
        self.unwrap = terms.unwrap
        self.rounds_of = terms.rounds_of
        self.rolls = rolls
        self.guards: list[Guard] = []
        self.nodes: list[Node] = []
        #: The lists that nodes go to: the kernel's, and one per round of each loop that runs now.
        self.bodies: list[list[Node]] = [[]]
        self.opened = 0
        self.is_short = False
        self.failure: UntraceableError | None = None
        #: What stands for the nodes of a loop's last round, once it is over.
        self.replaced: dict[int, Node] = {}
        #: {a node of a loop that is over: (the loop's node, place in the round, number of the round)}.
        self.of_rounds: dict[int, tuple[Node, int, int]] = {}
        self.kept: list[Node] = []

    def line(self) -> int:
        """Return the kernel's line that runs now."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def is_at_loop(self, *, is_after_call: bool = False) -> bool:
        """Return whether the kernel's instruction that runs now begins a loop, and does not unpack an iterable.

        Args:
            is_after_call: it is a call whose result the next instruction loops over.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        if frame is None:
            return False
        code, place = frame.f_code.co_code, frame.f_lasti
        if is_after_call:
            place += 2
            while dis.opname[code[place]] == "CACHE":
                place += 2
        return dis.opname[code[place]] == "GET_ITER"

    def ask(self, condition: Scalar) -> bool:
        """Note a condition and answer as in the example."""
        if concerns(condition, ("round",)):
            raise UntraceableError("asks which round of a loop it is in")
        self.guards.append(Guard(condition, bool(condition.value), self.line()))
        return bool(condition.value)

    def fixed(self, scalar: Scalar) -> Any:
        """Return a scalar's value, which the trace takes for granted from now on."""
        if concerns(scalar, ("round",)):
            raise UntraceableError("needs the number of a loop's round as a plain number")
        if scalar.kind != "const":
            self.guards.append(Guard(scalar, scalar.value, self.line()))
        return scalar.value

    def note(self, node: Node) -> Node:
        """Note a node in the round that runs now; what it reads of loops that are over is what they left."""
        if node.function not in ("loop", "after", "collected"):
            node.args = self.settled(node.args)
            node.kwargs = self.settled(node.kwargs)
        node.line = node.line or self.line()
        self.nodes.append(node)
        self.bodies[-1].append(node)
        return node

    def settled(self, value: Any) -> Any:
        """Return a value with what loops left in place of the nodes of their rounds.

        Raises:
            UntraceableError: it reads a single round other than the last.
        """
        if isinstance(value, (list, tuple)) and len(value) > 1:
            whole = self._collected(value)
            if whole is not None:
                return whole
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self.settled(item) for item in value)
        if isinstance(value, list):
            return [self.settled(item) for item in value]
        if isinstance(value, dict):
            return {key: self.settled(item) for key, item in value.items()}
        return rebuilt(value, self._left)

    def _left(self, node: Node) -> Node:
        while id(node) in self.replaced:
            node = self.replaced[id(node)]
        if id(node) in self.of_rounds and node.function != "after":
            raise UntraceableError("reads a value of a single round of a loop over a size or an attribute")
        return node

    def _collected(self, items: Any) -> Node | None:
        """Return the node of a list that holds the same value of every round of a loop, None of another list."""
        places = [self.of_rounds.get(id(item)) for item in items]
        first = places[0]
        if first is None or any(place is None or place[:2] != first[:2] for place in places):
            return None
        order = [place[2] for place in places if place is not None]
        whole, index, _ = first
        if id(whole) in self.of_rounds:
            return None
        loop = whole.args[0]
        if sorted(order) != list(range(len(loop.rounds))) or order not in (sorted(order), sorted(order)[::-1]):
            return None
        value = [item.value for item in items]
        args = (whole, loop.body[index], order != sorted(order))
        return self.note(Node("collected", args, value))

    # --- what numpy's protocols hand over
    def ufunc(self, function: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a ufunc or one of its methods."""
        out = kwargs.pop("out", None)
        name = function.__name__
        mask = kwargs.pop("where", True)
        if mask is not True and method == "reduce" and function in (np.add, np.multiply):
            args, mask = (self.record("where", np.where, (mask, args[0], function.identity), {}), *args[1:]), True
        if mask is not True and (method != "__call__" or out is None):
            raise UntraceableError(f"calls np.{name} with where= and without out=")
        if method == "__call__":
            made = self.record(name, function, args, kwargs)
        elif method == "outer":
            made = self.record(name, function, _outer(*args), kwargs)
        elif method in ("reduce", "accumulate"):
            made = self.record(f"{name}.{method}", getattr(function, method), args, kwargs)
        elif method == "at":
            return self.scatter(name, function, args)
        else:
            raise UntraceableError(f"uses np.{name}.{method}")
        if mask is not True:
            made = self.record("where", np.where, (mask, made, out[0] if isinstance(out, tuple) else out), {})
        return self._into(out, made)

    def _into(self, out: Any, made: Any) -> Any:
        if out is None:
            return made
        target = out[0] if isinstance(out, tuple) else out
        if not hasattr(target, "assign"):
            raise UntraceableError("writes a traced result into an array that is not traced")
        target.assign(made)
        return target

    def function(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a numpy function."""
        module = (getattr(function, "__module__", "") or "").removeprefix("numpy").lstrip(".")
        name = getattr(function, "__name__", str(function))
        if module.startswith(("linalg", "fft")):
            name = f"{module.split('.')[0]}.{name}"
        return self.record(name, function, args, kwargs)

    def record(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call numpy on the example's values and note the operation."""
        leaves = _leaves((args, kwargs))
        if name in self.terms.lowered and any(hasattr(item, "node") or hasattr(item, "scalar") for item in leaves):
            return self._lowered(name, args, kwargs)
        if name in _REFUSED or name.startswith(_RANDOM):
            reason = _REFUSED.get(name, "draws random numbers")
            raise UntraceableError(f"calls np.{name}, which {reason}")
        out = kwargs.pop("out", None)
        if name in ("sum", "prod") and "where" in kwargs:
            whole = self.record("where", np.where, (kwargs.pop("where"), args[0], int(name == "prod")), {})
            args = (whole, *args[1:])
        if hasattr(kwargs.get("keepdims"), "scalar"):
            kwargs["keepdims"] = bool(kwargs["keepdims"])
        noted_args = tuple(self.noted(item) for item in args)
        noted_kwargs = {key: self.noted(item) for key, item in kwargs.items()}
        if name == "shape":
            return args[0].shape
        if name == "ndim":
            return np.ndim(example(noted_args[0]))
        if name == "size" and len(args) == 1:
            return args[0].size
        given = {key: example(item) for key, item in noted_kwargs.items()}
        with np.errstate(all="ignore"):
            value = function(*[example(item) for item in noted_args], **given)
        has_node = any(isinstance(item, Node) for item in _leaves((noted_args, noted_kwargs)))
        if not has_node and isinstance(value, (np.generic, float, int)):
            return self._scalar(name, noted_args, noted_kwargs, value)
        node = Node(name, noted_args, value, noted_kwargs)
        made = self.result(node)
        return made if out is None else self._into(out, made)

    def _lowered(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self.terms.lowered[name](self.terms.numpy, *args, **kwargs)
        except TypeError as error:
            raise UntraceableError(f"calls np.{name} in a way that has no form ({error})") from error

    def _scalar(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
        if kwargs:
            raise UntraceableError(f"calls np.{name} with keywords on numbers")
        scalars = tuple(item if isinstance(item, Scalar) else constant_scalar(item) for item in args)
        return self.terms.symbol(Scalar("call", (f"np.{name}", *scalars), value, True))

    def result(self, node: Node) -> Any:
        """Return what the kernel gets for a node: an array, or a tuple or list of them."""
        self.note(node)
        if isinstance(node.value, (tuple, list)):
            parts = [
                self.wrap(self.note(Node("item", (node, index), item, line=node.line)))
                for index, item in enumerate(node.value)
            ]
            if isinstance(node.value, list):
                return parts
            return type(node.value)(*parts) if hasattr(node.value, "_fields") else tuple(parts)
        if not isinstance(node.value, (np.ndarray, np.generic)):
            raise UntraceableError(f"np.{node.function} gives a {type(node.value).__name__}", node.line)
        if node.value.dtype == object:
            raise UntraceableError(f"np.{node.function} gives an array of objects", node.line)
        return self.wrap(node)

    def scatter(self, name: str, function: np.ufunc, args: tuple[Any, ...]) -> None:
        """Note ``ufunc.at``, which writes into its first argument."""
        if name not in ("add", "subtract", "maximum", "minimum", "multiply") or not hasattr(args[0], "assign"):
            raise UntraceableError(f"uses np.{name}.at")
        noted = tuple(self.noted(item) for item in args)
        value = np.array(example(noted[0]))
        function.at(value, example(noted[1]), *[example(item) for item in noted[2:]])
        args[0].assign(self.wrap(self.note(Node(f"{name}.at", noted, value))))

    def noted(self, value: Any) -> Any:
        """Return a value with nodes and scalars in place of what the kernel holds."""
        if isinstance(value, list) and not hasattr(value, "scalar") and not hasattr(value, "node"):
            return [self.noted(item) for item in value]
        if isinstance(value, tuple) and not hasattr(value, "node"):
            return tuple(self.noted(item) for item in value)
        if isinstance(value, slice):
            return slice(self.noted(value.start), self.noted(value.stop), self.noted(value.step))
        bare = getattr(value, "_function", None)
        return bare if isinstance(bare, type) else self.unwrap(value)


def _outer(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two arrays so that the first one's axes stand before the second one's."""
    rank = np.ndim(other.node.value) if hasattr(other, "node") else np.ndim(other)
    return (one[(Ellipsis,) + (None,) * rank] if rank else one), other


def example(value: Any) -> Any:
    """Return a noted value as it is in the example."""
    if isinstance(value, (Node, Scalar)):
        return value.value
    if isinstance(value, list):
        return [example(item) for item in value]
    if isinstance(value, tuple):
        return tuple(example(item) for item in value)
    if isinstance(value, slice):
        return slice(example(value.start), example(value.stop), example(value.step))
    return value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


@contextmanager
def recording(recorder: TraceRecorder) -> Iterator[TraceRecorder]:
    """Make a recorder the current one."""
    _CURRENT.append(recorder)
    try:
        yield recorder
    finally:
        _CURRENT.pop()
