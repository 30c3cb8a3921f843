"""What torch and jax.numpy write alike, and rows: operations that a framework writes as one call.

A row is the text of the call with places for numpy's arguments: ``{a}`` is an expression, ``{a.}`` one that a dot or an
index follows, ``{a!}`` one that is cast to the result's dtype (``{a!.}`` both), ``{axis=-1}`` has a default, and what
stands in ``[[`` and ``]]`` is left out with its argument. A framework's own words are its modules' business.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.writer import ATOM, Cast, Dialect, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

_PLACE = re.compile(r"\{(\w+)(!?)(\.?)(?:=([^}]*))?\}")
_OPTION = re.compile(r"\[\[(.*?)\]\]")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def is_array(item: Any) -> bool:
    """Return whether a noted value is an array, traced or constant."""
    return isinstance(item, (Node, np.ndarray))


def in_dtype(writer: Writer, item: Any, dtype: np.dtype[Any], level: int = 0) -> str:
    """Return an array's text, cast where it has another dtype."""
    return writer.operand(item if item.dtype == dtype else Cast(item, dtype), level)


def written(writer: Writer, node: Node, row: str) -> str:
    """Return a node as its row says.

    Raises:
        UntraceableError: it has an argument that the row has no place for.
    """
    found = arguments(node)
    strange = set(found) - {place[1] for place in _PLACE.finditer(row)}
    if strange:
        raise UntraceableError(f"calls np.{node.function} with {', '.join(sorted(strange))}=", node.line)

    def text(place: re.Match[str]) -> str:
        name, is_cast, is_bound, default = place.groups()
        if name not in found:
            return default or ""
        level = ATOM if is_bound else 0
        if is_cast and is_array(found[name]):
            return in_dtype(writer, found[name], node.dtype, level)
        return writer.text(found[name], level)

    def option(part: re.Match[str]) -> str:
        place = _PLACE.search(part[1])
        return part[1] if place is not None and place[1] in found else ""

    return _PLACE.sub(text, _OPTION.sub(option, row))


def reduced(node: Node) -> dict[str, Any]:
    """Return the arguments of a reduction; a ufunc's runs over the first axis unless another is given.

    Raises:
        UntraceableError: it reduces a list.
    """
    found = arguments(node)
    if node.function.endswith(".reduce") and len(node.args) < 2 and "axis" not in node.kwargs:
        found["axis"] = 0
    if isinstance(found["a"], list):
        raise UntraceableError(f"calls np.{node.function} on a list", node.line)
    return found


class CommonDialect(Dialect):
    """What both write alike but for the module's name."""

    #: What messages call the framework.
    title: str
    rows: Mapping[str, str]

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        name = node.function
        if name in INFIX:
            return self._infix(writer, node)
        if name in self.rows:
            return written(writer, node, self.rows[name]), ATOM
        method = getattr(self, "_" + name.replace(".", "_"), None)
        if method is None:
            raise UntraceableError(f"calls np.{name}, which has no form in {self.title}", node.line)
        found: tuple[str, int] | str = method(writer, node)
        return found if isinstance(found, tuple) else (found, ATOM)

    def device(self, writer: Writer) -> str:
        """Return the keyword that makes an array where the inputs are."""
        return ""

    @abstractmethod
    def single(self, writer: Writer, item: Any, dtype: str) -> str:
        """Return a number as an array."""

    def _known(self, w: Writer, dtype: np.dtype[Any]) -> str:
        """Return a dtype as that of an input where all float inputs have it, so that the text holds for others too."""
        floats = [node for node in w.trace.inputs if node is not None and node.dtype.kind == "f"]
        if floats and all(node.dtype == dtype for node in floats):
            return f"{w.text(floats[0])}.dtype"
        return self.dtype(dtype)

    # --- elementwise
    def _infix(self, w: Writer, node: Node) -> tuple[str, int]:
        loop = np.result_type(*map(_plain, node.args)) if node.function in _COMPARISONS else node.dtype
        return w.infix(node, INFIX[node.function], loop)

    def _negative(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"-{w.text(node.args[0], 8)}", 8

    def _invert(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"~{w.text(node.args[0], 8)}", 8

    def _where(self, w: Writer, node: Node) -> str:
        condition, *branches = node.args
        arrays = [item for item in branches if is_array(item)]
        texts = []
        for item in branches:
            if is_array(item):
                texts.append(in_dtype(w, item, node.dtype))
            elif arrays and arrays[0].dtype == node.dtype and node.dtype.kind == "f":
                texts.append(w.text(item))
            else:
                texts.append(self.single(w, item, self._known(w, node.dtype) if arrays else self.dtype(node.dtype)))
        is_number = is_array(condition) and condition.dtype != bool
        truth = f"{w.text(condition, 2)} != 0" if is_number else w.text(condition)
        return f"{self.module}.where({truth}, {', '.join(texts)})"

    # --- making arrays
    def _zeros(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        shape = found["shape"]
        sizes = shape if isinstance(shape, (tuple, list)) or getattr(shape, "kind", "") == "shape" else (shape,)
        fill = f", {w.text(found['fill'])}" if "fill" in found else ""
        dtype = w.text(found["dtype"]) if "dtype" in found else self.dtype(node.dtype)
        return f"{self.module}.{node.function}({w.text(sizes)}{fill}, dtype={dtype}{self.device(w)})"

    _ones = _empty = _full = _zeros

    def _zeros_like(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "shape" in found or not isinstance(found["a"], Node):
            raise UntraceableError(f"calls np.{node.function} on a number or with shape=", node.line)
        fill = f", {w.text(found['fill'])}" if "fill" in found else ""
        dtype = f", dtype={w.text(found['dtype'])}" if "dtype" in found else ""
        return f"{self.module}.{node.function}({w.text(found['a'])}{fill}{dtype})"

    _ones_like = _empty_like = _full_like = _zeros_like

    def _arange(self, w: Writer, node: Node) -> str:
        args = ", ".join(w.text(item) for item in node.args)
        return f"{self.module}.{node.function}({args}, dtype={self.dtype(node.dtype)}{self.device(w)})"

    def _linspace(self, w: Writer, node: Node) -> str:
        if len(node.args) != 3 or node.kwargs:
            raise UntraceableError("calls np.linspace with further arguments", node.line)
        return self._arange(w, node)

    def _eye(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if found.get("k", 0) != 0:
            raise UntraceableError("calls np.eye with k=", node.line)
        sizes = ", ".join(w.text(found[key]) for key in ("n", "m") if key in found)
        return f"{self.module}.eye({sizes}, dtype={self.dtype(node.dtype)}{self.device(w)})"

    _identity = _eye

    def _constant(self, w: Writer, node: Node) -> str:
        return w.text(node.args[0])

    def _astype(self, w: Writer, node: Node) -> str:
        value, dtype = node.args
        return self.cast(w.text(value, ATOM), w.text(np.dtype(dtype) if isinstance(dtype, str) else dtype))

    def _copy(self, w: Writer, node: Node) -> str:
        return w.copy(w.text(node.args[0], ATOM))

    # --- items
    def _item(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}[{w.text(node.args[1])}]"

    def _index(self, w: Writer, place: Any, node: Node) -> str:
        parts = place if isinstance(place, tuple) else (place,)
        return ", ".join(self._part(w, part, node) for part in parts) or "()"

    def _part(self, w: Writer, part: Any, node: Node) -> str:
        if part is Ellipsis:
            return "..."
        if isinstance(part, slice):
            texts = ["" if item is None else w.text(item) for item in (part.start, part.stop)]
            return ":".join(texts) + (f":{w.text(part.step)}" if part.step is not None else "")
        return w.text(part)

    # --- places
    def _argsort(self, w: Writer, node: Node) -> str:
        text = w.text(node.args[0])
        if isinstance(node.args[0], Scalar):
            return f"tuple(sorted(range(len({text})), key={text}.__getitem__))"
        return self.sorted_places(text, w.text(arguments(node).get("axis", -1)))

    @abstractmethod
    def sorted_places(self, text: str, axis: str) -> str:
        """Return the places of an array's elements in their order."""

    # --- products
    def _einsum(self, w: Writer, node: Node) -> str:
        if not isinstance(node.args[0], str):
            raise UntraceableError("calls np.einsum without a subscripts text", node.line)
        texts = ", ".join(in_dtype(w, item, node.dtype) for item in node.args[1:])
        return f'{self.module}.einsum("{node.args[0].replace(" ", "")}", {texts})'


def _plain(item: Any) -> Any:
    if is_array(item):
        return item.dtype
    if isinstance(item, Scalar):
        return np.asarray(item.value).dtype if item.is_strong else item.value
    return item
