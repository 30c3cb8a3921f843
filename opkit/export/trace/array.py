"""TracedArray: what a kernel holds in place of an array while it is traced.

Operators and numpy's functions make new nodes; a write makes a new node that takes the place of the old one.

Views: how an array that shares another's memory follows it, and how what is written to it reaches the other.

A view is known by its path, the node that made it of its base.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from opkit.export.trace.graph import Node, Scalar, UnknownLengthError, UntraceableError
from opkit.export.trace.masks import Selected, chosen_by, mask_of, spread
from opkit.export.trace.recorder import current, example
from opkit.export.trace.symbols import Symbol, SymbolList, SymbolShape, TracedDtype

_REGULAR = {"reshape", "ravel", "expand_dims", "squeeze", "atleast_1d", "atleast_2d"}
VIEWS = _REGULAR | {"getitem", "transpose", "swapaxes", "moveaxis", "diagonal", "broadcast_to", "flip"}


def again(path: Node, base: Node) -> Node:
    """Return the node of a view of its base as that is now."""
    rest = path.args[1:]
    if path.function == "getitem":
        value = np.asarray(base.value)[example(rest[0])]
    else:
        kwargs = {key: example(item) for key, item in path.kwargs.items()}
        value = getattr(np, path.function)(base.value, *[example(item) for item in rest], **kwargs)
    return Node(path.function, (base, *rest), value, path.kwargs)


def written(path: Node, base: Node, value: Node) -> Node:
    """Return the node of a base after a value was written to the whole of a view.

    Raises:
        UntraceableError: views of that kind are not written through.
    """
    name, rest = path.function, path.args[1:]
    if name == "getitem":
        changed = np.array(base.value)
        changed[example(rest[0])] = value.value
        return Node("setitem", (base, rest[0], value), changed)
    if name in _REGULAR:
        shape = Scalar("shape", (base,), np.shape(base.value))
        return Node("reshape", (value, shape), np.reshape(value.value, shape.value))
    args: tuple[Any, ...] | None = None
    if name in ("swapaxes", "flip") or (name == "transpose" and not rest and not path.kwargs):
        args = rest
    elif name == "moveaxis":
        args = rest[::-1]
    elif name == "transpose" and rest and all(isinstance(item, int) for item in rest[0]):
        args = (tuple(int(item) for item in np.argsort(rest[0])),)
    if args is None or path.kwargs:
        raise UntraceableError(f"writes through a view that np.{name} gives")
    found = getattr(np, name)(value.value, *[example(item) for item in args])
    return Node(name, (value, *args), found)


def unwrap(value: Any) -> Any:
    """Return the node or scalar of what a kernel holds, anything else as it is."""
    if isinstance(value, TracedArray):
        return value.read()
    if isinstance(value, TracedList):
        return value.node
    if isinstance(value, (Symbol, SymbolList)):
        return value.scalar
    if isinstance(value, SymbolShape):
        return Scalar("shape", (value.node,), np.shape(value.node.value))
    if isinstance(value, TracedDtype):
        return Scalar("dtype of", (value.node,), value.dtype)
    return value


class TracedArray(NDArrayOperatorsMixin):
    """An array of a traced kernel.

    Args:
        node: what it holds now.
        is_argument: it is an argument of the kernel, which must not be written to.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, node: Node, is_argument: bool = False) -> None:
        self.node = node
        self.is_argument = is_argument
        self.base: TracedArray | None = None
        self.path = self.seen = node
        self.index: Any = None

    def read(self) -> Node:
        """Return the node: of a view, as it is after all writes to the array that it is a view of."""
        base = self.base
        if base is not None:
            now = base.read()
            if now is not self.seen:
                self.node, self.seen = current().note(again(self.path, now)), now
        return self.node

    def view(self, made: TracedArray) -> TracedArray:
        """Mark a result as sharing this array's memory where numpy's does."""
        mine, other = np.asarray(self.node.value), np.asarray(made.node.value)
        if other.size and np.may_share_memory(mine, other):
            made.base = self
            made.path = made.node
            made.seen = self.node
        return made

    def assign(self, made: Any) -> None:
        """Let this array hold a new value, cast to its dtype and broadcast to its shape."""
        node = unwrap(made)
        if not isinstance(node, Node):
            raise UntraceableError("writes a value that is not an array in place")
        self.read()
        if np.shape(node.value) != np.shape(self.node.value):
            value = np.broadcast_to(node.value, np.shape(self.node.value))
            node = current().note(Node("broadcast_to", (node, self._shape()), value))
        if node.dtype != self.node.dtype:
            wanted = Scalar("dtype of", (self.node,), self.node.dtype)
            value = np.asarray(node.value).astype(self.node.dtype)
            node = current().note(Node("astype", (node, wanted), value))
        self.store(node)

    def store(self, node: Node) -> None:
        """Let this array hold a node of its shape and dtype; what it is a view of holds it there too.

        Raises:
            UntraceableError: it is an argument, or a view of a kind that cannot be written through.
        """
        if self.is_argument:
            raise UntraceableError("writes to an argument")
        if self.base is not None:
            self.base.store(current().note(written(self.path, self.base.read(), node)))
            self.seen = self.base.read()
        self.node = node

    def put(self, place: Any, value: Any) -> None:
        """Write a value at a place."""
        if self.is_argument:
            raise UntraceableError("writes to an argument")
        node = self.read()
        changed = np.array(node.value)
        changed[example(place)] = example(value)
        self.store(current().note(Node("setitem", (node, place, value), changed)))

    def _shape(self) -> Scalar:
        return Scalar("shape", (self.node,), np.shape(self.node.value))

    # --- numpy's protocols
    def __array_ufunc__(self, function: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return current().ufunc(function, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        made = current().function(function, args, dict(kwargs))
        if isinstance(made, TracedArray) and args and args[0] is self and function.__name__ in VIEWS:
            return self.view(made)
        return made

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise UntraceableError("turns a value into a plain numpy array")

    # --- items
    def __getitem__(self, index: Any) -> Any:
        place = current().noted(index)
        node = self.read()
        mask = mask_of(place)
        if mask is not None:
            return Selected(self, current().wrap(mask))
        made = current().result(Node("getitem", (node, place), np.asarray(node.value)[example(place)]))
        made.index = index
        return self.view(made)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, TracedArray) and value.base is self and value.index is index:
            value.read()
            return  # a view written to itself, as ``a[i] += b`` does after the addition
        place = current().noted(index)
        mask = mask_of(place)
        if mask is None:
            self.put(place, current().noted(value))
            return
        chosen = chosen_by(self, current().wrap(mask), value)
        self.assign(np.where(spread(current().wrap(mask), self.node), chosen, self))

    def __iter__(self) -> Iterator[Any]:
        recorder = current()
        size = self.shape[0]
        if recorder.is_at_loop():
            return (self[place] for place in recorder.rounds_of(size))
        return iter([self[place] for place in range(recorder.fixed(size.scalar))])

    def __len__(self) -> int:
        raise UnknownLengthError("asks len() of an array, which must be a plain number; x.shape[0] is traced")

    # --- values
    def _refuse(self, what: str) -> UntraceableError:
        return UntraceableError(f"{what}, so that what it does depends on values")

    def __bool__(self) -> bool:
        raise self._refuse("asks an array for its truth")

    def __int__(self) -> int:
        raise self._refuse("turns an array into an int")

    def __index__(self) -> int:
        raise self._refuse("indexes with an array's value")

    def __float__(self) -> float:
        raise self._refuse("turns an array into a float")

    def item(self, *args: Any) -> Any:
        """Refuse: a kernel that reads a value cannot be traced."""
        raise self._refuse("reads a value with .item()")

    def tolist(self) -> Any:
        """Refuse: a kernel that reads values cannot be traced."""
        raise self._refuse("reads values with .tolist()")

    # --- attributes
    @property
    def shape(self) -> SymbolShape:
        """Sizes that remember the array."""
        return SymbolShape(self.read())

    @property
    def ndim(self) -> int:
        """The rank, a plain int."""
        return self.node.ndim

    @property
    def size(self) -> Symbol:
        """The number of elements."""
        return Symbol(Scalar("count", (self.read(),), np.size(self.node.value)))

    @property
    def dtype(self) -> TracedDtype:
        """The dtype."""
        return TracedDtype(self.read())

    @property
    def strides(self) -> tuple[Symbol, ...]:
        """Steps in bytes, which only ``as_strided`` takes."""
        node = self.read()
        steps = np.asarray(node.value).strides
        return tuple(Symbol(Scalar("stride", (node, axis), step)) for axis, step in enumerate(steps))

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.node.dtype.itemsize

    @property
    def T(self) -> Any:  # noqa: N802
        """The array with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802
        """The array with its last two axes swapped."""
        return self._call(np.swapaxes, -1, -2)

    @property
    def real(self) -> Any:
        """The array itself, which is real."""
        return self

    # --- methods
    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """As numpy's."""
        if kwargs.get("order", "C") != "C":
            raise UntraceableError("reshapes in another order than C")
        return self._call(np.reshape, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """As numpy's."""
        if not axes or axes == (None,):
            return self._call(np.transpose)
        return self._call(np.transpose, axes[0] if len(axes) == 1 else axes)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """As numpy's."""
        node = self.read()
        wanted = current().noted(getattr(dtype, "dtype", dtype) if not isinstance(dtype, TracedDtype) else dtype)
        value = np.asarray(node.value).astype(example(wanted))
        return current().result(Node("astype", (node, wanted), value))

    def copy(self, *_: Any, **__: Any) -> Any:
        """As numpy's."""
        return self._call(np.copy)

    def flatten(self, *_: Any) -> Any:
        """As numpy's."""
        return self.reshape(-1).copy()

    def fill(self, value: Any) -> None:
        """As numpy's."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """As numpy's: in place."""
        self.assign(self._call(np.sort, axis=axis, kind=kind))

    def dot(self, other: Any) -> Any:
        """As numpy's."""
        return np.dot(self, other)


class TracedList(list[Any]):
    """The arrays of a variadic argument: a loop over them stays one, otherwise their number is taken for granted.

    Args:
        node: the argument; its value is the list.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__(self._item(index) for index in range(len(node.value)))

    def _item(self, index: Any) -> TracedArray:
        value = self.node.value[index.scalar.value if isinstance(index, Symbol) else index]
        if not isinstance(index, Symbol):
            return TracedArray(Node("item", (self.node, index), value), is_argument=True)
        node = current().note(Node("item", (self.node, index.scalar), value))
        return TracedArray(node, is_argument=True)

    def length(self) -> Symbol:
        """Return how many there are as a symbol."""
        return Symbol(Scalar("call", ("len", self.node), len(self.node.value)))

    def __getitem__(self, index: Any) -> Any:
        return self._item(index) if isinstance(index, Symbol) else super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        recorder = current()
        if recorder.is_at_loop():
            return (self._item(place) for place in recorder.rounds_of(self.length()))
        return super().__iter__()


def _method(name: str, function: Any) -> Any:
    def call(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return self._call(function, *args, **kwargs)

    call.__name__ = name
    return call


_METHODS = (
    "sum", "mean", "max", "min", "prod", "var", "std", "any", "all", "cumsum", "cumprod", "argmax", "argmin", "argsort",
    "squeeze", "swapaxes", "ravel", "repeat", "clip", "round", "take", "diagonal", "trace", "ptp",
)  # fmt: skip
for _name in _METHODS:
    setattr(TracedArray, _name, _method(_name, getattr(np, _name)))
