"""What torch and jax.numpy write alike, and rows: operations that a framework writes as one call.

A row is the text of the call with places for numpy's arguments: ``{a}`` is an expression, ``{a.}`` one that a dot or an
index follows, ``{a!}`` one that is cast to the result's dtype (``{a!.}`` both), ``{axis=-1}`` has a default, and what
stands in ``[[`` and ``]]`` is left out with its argument. A framework's own words are its modules' business.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.writer import ATOM, Cast, Dialect, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError
from opkit.listed import listed

_PLACE = re.compile(r"\{(\w+)(!?)(\.?)(?:=([^}]*))?\}")
_OPTION = re.compile(r"\[\[(.*?)\]\]")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def is_array(item: Any) -> bool:
    """Return whether a noted value is an array, traced or constant."""
    return isinstance(item, (Node, np.ndarray))


class Call:
    """An operation to be written: its node, its arguments by numpy's names, and their texts.

    Args:
        writer: writes the trace.
        node: the operation.
    """

    def __init__(self, writer: Writer, node: Node) -> None:
        self.w, self.node, self.text = writer, node, writer.text
        self.name, self.args = node.function, node.args

    @cached_property
    def given(self) -> dict[str, Any]:
        """The arguments; see ``arguments``."""
        return arguments(self.node)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The result's dtype."""
        return self.node.dtype

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or what stands for one that is left out."""
        return self.given.get(name, default)

    def error(self, reason: str) -> UntraceableError:
        """Return the error for a call that has no form in the target."""
        return UntraceableError(reason, self.node.line)

    def cast(self, item: Any, level: int = 0, dtype: np.dtype[Any] | None = None) -> str:
        """Return an array's text, cast where it has another dtype than the result, or than one that is named."""
        wanted = dtype or self.dtype
        return self.w.operand(item if item.dtype == wanted else Cast(item, wanted), level)

    def operands(self, loop: np.dtype[Any]) -> list[Any]:
        """Return the operands; see ``Writer.operands``."""
        return self.w.operands(self.node, loop)

    def reduced(self) -> None:
        """Let a ufunc's reduction run over the first axis unless another is given.

        Raises:
            UntraceableError: it reduces a list.
        """
        if self.name.endswith(".reduce") and len(self.args) < 2 and "axis" not in self.node.kwargs:
            self.given["axis"] = 0
        if isinstance(self["a"], list):
            raise self.error(f"calls np.{self.name} on a list")

    def written(self, row: str) -> str:
        """Return the operation as its row says.

        Raises:
            UntraceableError: it has an argument that the row has no place for.
        """
        strange = set(self.given) - {place[1] for place in _PLACE.finditer(row)}
        if strange:
            raise self.error(f"calls np.{self.name} with {', '.join(sorted(strange))}=")

        def text(place: re.Match[str]) -> str:
            name, is_cast, is_bound, default = place.groups()
            if name not in self:
                return default or ""
            write = self.cast if is_cast and is_array(self[name]) else self.text
            return write(self[name], ATOM if is_bound else 0)

        def option(part: re.Match[str]) -> str:
            place = _PLACE.search(part[1])
            return part[1] if place is not None and place[1] in self else ""

        return _PLACE.sub(text, _OPTION.sub(option, row))


class CommonDialect(Dialect):
    """What both write alike but for the module's name."""

    #: What messages call the framework.
    title: str
    rows: Mapping[str, str]

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        return self.called(Call(writer, node))

    def called(self, c: Call) -> tuple[str, int]:
        """Return the expression of a call and its binding strength."""
        if c.name in INFIX:
            return self._infix(c)
        if c.name in self.rows:
            return c.written(self.rows[c.name]), ATOM
        method = getattr(self, "_" + c.name.replace(".", "_"), None)
        if method is None:
            raise c.error(f"calls np.{c.name}, which has no form in {self.title}")
        found: tuple[str, int] | str = method(c)
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
    def _infix(self, c: Call) -> tuple[str, int]:
        loop = np.result_type(*map(_plain, c.args)) if c.name in _COMPARISONS else c.dtype
        return c.w.infix(c.node, INFIX[c.name], loop)

    def _negative(self, c: Call) -> tuple[str, int]:
        return f"-{c.text(c.args[0], 8)}", 8

    def _invert(self, c: Call) -> tuple[str, int]:
        return f"~{c.text(c.args[0], 8)}", 8

    def _where(self, c: Call) -> str:
        condition, *branches = c.args
        arrays = [item for item in branches if is_array(item)]
        texts = []
        for item in branches:
            if is_array(item):
                texts.append(c.cast(item))
            elif arrays and arrays[0].dtype == c.dtype and c.dtype.kind == "f":
                texts.append(c.text(item))
            else:
                texts.append(self.single(c.w, item, self._known(c.w, c.dtype) if arrays else self.dtype(c.dtype)))
        is_number = is_array(condition) and condition.dtype != bool
        truth = f"{c.text(condition, 2)} != 0" if is_number else c.text(condition)
        return f"{self.module}.where({truth}, {', '.join(texts)})"

    # --- making arrays
    def _zeros(self, c: Call) -> str:
        shape = c["shape"]
        sizes = shape if isinstance(shape, (tuple, list)) or getattr(shape, "kind", "") == "shape" else (shape,)
        fill = f", {c.text(c['fill'])}" if "fill" in c else ""
        dtype = c.text(c["dtype"]) if "dtype" in c else self.dtype(c.dtype)
        return f"{self.module}.{c.name}({c.text(sizes)}{fill}, dtype={dtype}{self.device(c.w)})"

    _ones = _empty = _full = _zeros

    def _zeros_like(self, c: Call) -> str:
        if "shape" in c or not isinstance(c["a"], Node):
            raise c.error(f"calls np.{c.name} on a number or with shape=")
        fill = f", {c.text(c['fill'])}" if "fill" in c else ""
        dtype = f", dtype={c.text(c['dtype'])}" if "dtype" in c else ""
        return f"{self.module}.{c.name}({c.text(c['a'])}{fill}{dtype})"

    _ones_like = _empty_like = _full_like = _zeros_like

    def _arange(self, c: Call) -> str:
        args = ", ".join(c.text(item) for item in c.args)
        return f"{self.module}.{c.name}({args}, dtype={self.dtype(c.dtype)}{self.device(c.w)})"

    def _linspace(self, c: Call) -> str:
        if len(c.args) != 3 or c.node.kwargs:
            raise c.error("calls np.linspace with further arguments")
        return self._arange(c)

    def _eye(self, c: Call) -> str:
        if c.get("k", 0) != 0:
            raise c.error("calls np.eye with k=")
        sizes = ", ".join(c.text(c[key]) for key in ("n", "m") if key in c)
        return f"{self.module}.eye({sizes}, dtype={self.dtype(c.dtype)}{self.device(c.w)})"

    _identity = _eye

    def _constant(self, c: Call) -> str:
        return c.text(c.args[0])

    def _astype(self, c: Call) -> str:
        value, dtype = c.args
        return self.cast(c.text(value, ATOM), c.text(np.dtype(dtype) if isinstance(dtype, str) else dtype))

    def _copy(self, c: Call) -> str:
        return c.w.copy(c.text(c.args[0], ATOM))

    # --- items
    def _item(self, c: Call) -> str:
        return f"{c.text(c.args[0], ATOM)}[{c.text(c.args[1])}]"

    def _index(self, c: Call, place: Any) -> str:
        parts = place if isinstance(place, tuple) else (place,)
        return ", ".join(self._part(c, part) for part in parts) or "()"

    def _part(self, c: Call, part: Any) -> str:
        if part is Ellipsis:
            return "..."
        if isinstance(part, slice):
            texts = ["" if item is None else c.text(item) for item in (part.start, part.stop)]
            return ":".join(texts) + (f":{c.text(part.step)}" if part.step is not None else "")
        return c.text(part)

    # --- places
    def _argsort(self, c: Call) -> str:
        text = c.text(c.args[0])
        if isinstance(c.args[0], Scalar):
            return f"tuple(sorted(range(len({text})), key={text}.__getitem__))"
        return self.sorted_places(text, c.text(c.get("axis", -1)))

    @abstractmethod
    def sorted_places(self, text: str, axis: str) -> str:
        """Return the places of an array's elements in their order."""

    def windows(self, c: Call) -> list[tuple[Any, Any]]:
        """Return the axis and the size of each window of a sliding view.

        Raises:
            UntraceableError: their number is known only at the call.
        """
        size, axis = c["window"], c.get("axis")
        if isinstance(size, Scalar) and size.kind == "shape":
            raise c.error("makes windows of sizes whose number is known only at the call")
        sizes = listed(size)
        return list(zip(range(len(sizes)) if axis is None else listed(axis), sizes))

    # --- products
    def _einsum(self, c: Call) -> str:
        if not isinstance(c.args[0], str):
            raise c.error("calls np.einsum without a subscripts text")
        texts = ", ".join(c.cast(item) for item in c.args[1:])
        return f'{self.module}.einsum("{c.args[0].replace(" ", "")}", {texts})'


def _plain(item: Any) -> Any:
    if is_array(item):
        return item.dtype
    if isinstance(item, Scalar):
        return np.asarray(item.value).dtype if item.is_strong else item.value
    return item
