"""The recorder: runs one kernel, calls numpy on the example's values, and notes each operation as a node.

One recorder is current at a time; arrays and symbols report to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from opkit.export.trace.graph import Guard, Node, Scalar, UntraceableError

__all__ = ["Recorder", "current", "recording"]

_CURRENT: list[Recorder] = []
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


def current() -> Recorder:
    """Return the recorder that is at work."""
    if not _CURRENT:
        raise UntraceableError("uses a traced value after the trace has ended")
    return _CURRENT[-1]


class Recorder:
    """Notes what one run of a kernel does.

    Args:
        file: the kernel file, whose lines are named.
        wrap: makes what the kernel holds of a node.
        unwrap: gives the node or scalar of what the kernel holds, anything else as it is.
    """

    def __init__(self, file: str, wrap: Callable[[Node], Any], unwrap: Callable[[Any], Any]) -> None:
        self.file = file
        self.wrap = wrap
        self.unwrap = unwrap
        self.guards: list[Guard] = []
        self.nodes: list[Node] = []

    def line(self) -> int:
        """Return the kernel's line that runs now."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def ask(self, condition: Scalar) -> bool:
        """Note a condition and answer as in the example."""
        self.guards.append(Guard(condition, bool(condition.value), self.line()))
        return bool(condition.value)

    # --- what numpy's protocols hand over
    def ufunc(self, function: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a ufunc or one of its methods."""
        out = kwargs.pop("out", None)
        name = function.__name__
        mask = kwargs.pop("where", True)
        if mask is not True and (method != "__call__" or out is None):
            raise UntraceableError(f"calls np.{name} with where= and without out=", self.line())
        if method == "__call__":
            made = self.record(name, function, args, kwargs)
        elif method in ("reduce", "accumulate", "outer"):
            made = self.record(f"{name}.{method}", getattr(function, method), args, kwargs)
        elif method == "at":
            return self.scatter(name, function, args)
        else:
            raise UntraceableError(f"uses np.{name}.{method}", self.line())
        if mask is not True:
            made = self.record("where", np.where, (mask, made, out[0] if isinstance(out, tuple) else out), {})
        return self._into(out, made)

    def _into(self, out: Any, made: Any) -> Any:
        if out is None:
            return made
        target = out[0] if isinstance(out, tuple) else out
        if not hasattr(target, "assign"):
            raise UntraceableError("writes a traced result into an array that is not traced", self.line())
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
        if name in _REFUSED or name.startswith(_RANDOM):
            reason = _REFUSED.get(name, "draws random numbers")
            raise UntraceableError(f"np.{name} {reason}", self.line())
        out = kwargs.pop("out", None)
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
        node = Node(name, noted_args, noted_kwargs, value, self.line())
        made = self.result(node)
        return made if out is None else self._into(out, made)

    def _scalar(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Any:
        from opkit.export.trace.symbols import Symbol, scalar_of

        if kwargs:
            raise UntraceableError(f"calls np.{name} with keywords on numbers", self.line())
        scalars = tuple(item if isinstance(item, Scalar) else scalar_of(item) for item in args)
        return Symbol(Scalar("call", (f"np.{name}", *scalars), value, True))

    def result(self, node: Node) -> Any:
        """Return what the kernel gets for a node: an array, or a tuple or list of them."""
        self.nodes.append(node)
        if isinstance(node.value, (tuple, list)):
            parts = [
                self.wrap(Node("item", (node, index), {}, item, node.line)) for index, item in enumerate(node.value)
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
        if name not in ("add", "subtract") or not hasattr(args[0], "assign"):
            raise UntraceableError(f"uses np.{name}.at", self.line())
        noted = tuple(self.noted(item) for item in args)
        value = np.array(example(noted[0]))
        function.at(value, example(noted[1]), *[example(item) for item in noted[2:]])
        args[0].assign(self.wrap(Node(f"{name}.at", noted, {}, value, self.line())))

    def noted(self, value: Any) -> Any:
        """Return a value with nodes and scalars in place of what the kernel holds."""
        if isinstance(value, list) and not hasattr(value, "scalar"):
            return [self.noted(item) for item in value]
        if isinstance(value, tuple) and not hasattr(value, "node"):
            return tuple(self.noted(item) for item in value)
        if isinstance(value, slice):
            return slice(self.noted(value.start), self.noted(value.stop), self.noted(value.step))
        bare = getattr(value, "_function", None)
        return bare if isinstance(bare, type) else self.unwrap(value)


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


__all__ += ["example"]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Make a recorder the current one."""
    _CURRENT.append(recorder)
    try:
        yield recorder
    finally:
        _CURRENT.pop()
