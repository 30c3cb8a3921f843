"""Symbols: what a traced kernel holds in place of attributes, sizes and dtypes.

Arithmetic makes further symbols; a comparison answers as in the example and becomes a guard.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opkit.export.trace.graph import Node, Scalar, UntraceableError, concerns, constant_scalar
from opkit.export.trace.recorder import current


def symbol_of(kind: str, name: str, value: Any) -> Any:
    """Return a symbol for an attribute's value; a list gives symbols item by item."""
    if isinstance(value, (list, tuple)):
        return SymbolList(name, value)
    return Symbol(Scalar(kind, (name,), value))


def scalar_of(value: Any) -> Scalar:
    """Return a symbol's scalar, a constant for a plain value."""
    return value.scalar if isinstance(value, Symbol) else constant_scalar(value)


def _binary(sign: str, function: Callable[[Any, Any], Any], is_reversed: bool = False) -> Callable[[Any, Any], Any]:
    def apply(self: Symbol, other: Any) -> Any:
        if not isinstance(other, (int, float, str, Symbol, np.generic)) or isinstance(other, complex):
            return NotImplemented
        left, right = (scalar_of(other), self.scalar) if is_reversed else (self.scalar, scalar_of(other))
        value = function(left.value, right.value)
        strong = left.is_strong or right.is_strong
        return Symbol(Scalar("binary", (sign, left, right), value, strong))

    return apply


def _compare(sign: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(self: Symbol, other: Any) -> Any:
        if not isinstance(other, (int, float, str, Symbol, np.generic, type(None))):
            return NotImplemented
        right = scalar_of(other)
        condition = Scalar("binary", (sign, self.scalar, right), bool(function(self.scalar.value, right.value)))
        return current().ask(condition)

    return apply


class Symbol:
    """A number, bool or string of which the trace knows where it comes from."""

    __slots__ = ("scalar",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar

    __add__, __radd__ = _binary("+", operator.add), _binary("+", operator.add, True)
    __sub__, __rsub__ = _binary("-", operator.sub), _binary("-", operator.sub, True)
    __mul__, __rmul__ = _binary("*", operator.mul), _binary("*", operator.mul, True)
    __truediv__, __rtruediv__ = _binary("/", operator.truediv), _binary("/", operator.truediv, True)
    __floordiv__, __rfloordiv__ = _binary("//", operator.floordiv), _binary("//", operator.floordiv, True)
    __mod__, __rmod__ = _binary("%", operator.mod), _binary("%", operator.mod, True)
    __pow__, __rpow__ = _binary("**", operator.pow), _binary("**", operator.pow, True)
    __eq__ = _compare("==", operator.eq)
    __ne__ = _compare("!=", operator.ne)
    __lt__ = _compare("<", operator.lt)
    __le__ = _compare("<=", operator.le)
    __gt__ = _compare(">", operator.gt)
    __ge__ = _compare(">=", operator.ge)

    def __neg__(self) -> Symbol:
        return Symbol(Scalar("unary", ("-", self.scalar), -self.scalar.value, self.scalar.is_strong))

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self._called("abs", abs(self.scalar.value))

    def __float__(self) -> float:
        raise UntraceableError("turns a value that is known only at the call into a Python float")

    def __bool__(self) -> bool:
        return current().ask(Scalar("call", ("bool", self.scalar), bool(self.scalar.value)))

    def __index__(self) -> int:
        if concerns(self.scalar, ("size", "count", "stride", "round")):
            what = "loops over, or indexes with, a size or an attribute that is known only at the call"
            raise UntraceableError(what)
        return int(current().fixed(self.scalar))

    __int__ = __index__

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return current().ufunc(function, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return current().function(function, args, kwargs)

    def _called(self, function: str, value: Any) -> Symbol:
        return Symbol(Scalar("call", (function, self.scalar), value, self.scalar.is_strong))

    def __str__(self) -> str:
        return str(current().fixed(self.scalar))


class SymbolList(list[Any]):
    """A list attribute: its items are symbols; where it is not looped over, a guard takes its length for granted."""

    def __init__(self, name: str, values: Any) -> None:
        whole = Scalar("attr", (name,), list(values))
        self.scalar = whole
        items = [Scalar("item", (whole, index), value) for index, value in enumerate(values)]
        super().__init__(Symbol(item) for item in items)

    def length(self) -> Symbol:
        """Return the number of items as a symbol."""
        return Symbol(Scalar("call", ("len", self.scalar), len(self.scalar.value)))

    def item(self, index: Symbol) -> Symbol:
        """Return the item at a place that is known only at the call."""
        return Symbol(Scalar("item", (self.scalar, index.scalar), self.scalar.value[index.scalar.value]))

    def __len__(self) -> int:
        return int(self.length())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Symbol):
            return self.item(index)
        if isinstance(index, slice):
            return [super(SymbolList, self).__getitem__(place) for place in range(*index.indices(len(self)))]
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        recorder = current()
        if recorder.rolls and recorder.is_at_loop():
            return (self.item(place) for place in recorder.rounds_of(self.length()))
        len(self)
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        len(self)
        return super().__reversed__()

    def __eq__(self, other: object) -> bool:
        return bool(
            current().ask(Scalar("binary", ("==", self.scalar, Scalar("const", (other,), other)), self._is(other)))
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def _is(self, other: object) -> bool:
        return bool(list(self.scalar.value) == other)


class SymbolShape(tuple[Any, ...]):
    """The shape of a traced array: sizes that remember the array and the axis."""

    node: Node

    def __new__(cls, node: Node) -> SymbolShape:
        """Make the sizes of a node's result."""
        sizes = np.shape(node.value)
        made = super().__new__(cls, [Symbol(Scalar("size", (node, axis), size)) for axis, size in enumerate(sizes)])
        made.node = node
        return made

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Symbol):
            size = np.shape(self.node.value)[index.scalar.value]
            return Symbol(Scalar("size", (self.node, index.scalar), size))
        if isinstance(index, slice):
            self.node.is_rank_read = True
        if isinstance(index, int) and index < 0:
            return Symbol(Scalar("size", (self.node, index), np.shape(self.node.value)[index]))
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        self.node.is_rank_read = True
        return super().__iter__()

    def __len__(self) -> int:
        self.node.is_rank_read = True
        return super().__len__()

    __hash__ = None  # type: ignore[assignment]


class TracedDtype:
    """The dtype of a traced array; asking what it is makes a guard."""

    __slots__ = ("dtype", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.dtype = node.dtype

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TracedDtype):
            return self._known() == other._known()
        return bool(self._known() == other)

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known(), name)

    def __str__(self) -> str:
        return str(self._known())

    def _known(self) -> np.dtype[Any]:
        current().ask(Scalar("dtype", (self.node, self.dtype.name), True))
        return self.dtype
