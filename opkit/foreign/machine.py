"""The machine that a pickle is a program for, made so that it can make containers, numbers, texts and arrays alone.

The names that a pickle gives are only compared with the few that these need; nothing is looked up, imported or called.
All of memory that is used is in proportion to the size of the data. ``opkit.foreign.pickled`` has the steps.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.foreign.array import array_of, dtype_of
from opkit.foreign.files import FormatError

#: What stands below a group on the stack.
MARK = object()


class NamesCodeError(FormatError):
    """A pickle names something that is neither a container nor an array, which another reader would run."""


class _Array:
    """An array whose contents come later: what ``_reconstruct`` makes."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: np.ndarray | None = None


class _Dtype:
    """A dtype by kind and size, whose byte order comes later."""

    __slots__ = ("order", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.order = "="


class _Name:
    """Something that the pickle names."""

    __slots__ = ("make", "text")

    def __init__(self, text: str, make: Callable[..., Any]) -> None:
        self.text = text
        self.make = make


class Machine:
    """The data, the stack and the memo.

    Args:
        data: the whole pickle.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.spent: Counter[str] = Counter()

    def pop(self) -> Any:
        """Return what is on top of the stack."""
        if not self.stack or self.stack[-1] is MARK:
            raise FormatError("the pickle takes more than it gave")
        return self.stack.pop()

    def to_mark(self) -> list[Any]:
        """Return the group on top of the stack."""
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not MARK:
            at -= 1
        if at < 0:
            raise FormatError("the pickle ends a group that it did not begin")
        found = [self.settled(item) for item in self.stack[at + 1 :]]
        del self.stack[at:]
        return found

    def settled(self, item: Any) -> Any:
        """Return what may be part of a container: the array for what stood for it."""
        if not isinstance(item, _Array):
            return item
        if item.array is None:
            raise FormatError("the pickle holds an array without contents")
        return item.array

    def spend(self, what: str, amount: int) -> None:
        """Count what is made of what is there already, which may not exceed the data's own size."""
        self.spent[what] += amount
        if self.spent[what] > len(self.data):
            raise FormatError(f"the {what} of the pickle are larger than the file")

    def append(self, items: list[Any]) -> None:
        """Append to the list on top."""
        held = self.stack[-1]
        if type(held) is not list:
            raise FormatError("the pickle appends to something that is not a list")
        held.extend(items)

    def set_items(self, items: list[Any]) -> None:
        """Put keys and values, in turn, into the dict on top."""
        held = self.stack[-1]
        if not isinstance(held, dict) or len(items) % 2:
            raise FormatError("the pickle puts entries into something that is not a dict")
        for key, value in zip(items[::2], items[1::2]):
            if not (key is None or isinstance(key, (str, bytes, int, float, np.generic)) or _is_flat(key)):
                raise FormatError(f"a dict of the pickle has a key that is a {type(key).__name__}")
            held[key] = value

    def remember(self, place: int) -> None:
        """Remember what is on top under a number."""
        if not self.stack or self.stack[-1] is MARK:
            raise FormatError("the pickle refers to nothing")
        self.memo[place] = self.stack[-1]

    def recall(self, place: int) -> None:
        """Put what is remembered on the stack."""
        if place not in self.memo:
            raise FormatError(f"the pickle refers to object {place}, which is not there")
        self.stack.append(self.memo[place])

    def name(self, module: str, name: str) -> None:
        """Put a name on the stack."""
        make = _MAKERS.get((module, name))
        if make is None:
            raise NamesCodeError(f"the file refers to {module}.{name}, which is neither a container nor an array")
        self.stack.append(_Name(f"{module}.{name}", make))

    def reduce(self) -> None:
        """Make what a name stands for from its arguments."""
        args, called = self.pop(), self.pop()
        if not isinstance(called, _Name) or type(args) is not tuple:
            raise FormatError("the pickle calls something that is not a name")
        self.stack.append(called.make(self, *args))

    def build(self) -> None:
        """Give a dtype its byte order, or an array its contents."""
        state, item = self.pop(), self.stack[-1]
        if isinstance(item, _Dtype):
            item.order = _order_of(state)
        elif isinstance(item, _Array) and item.array is None:
            _, shape, dtype, is_fortran, raw = state
            item.array = self.array(raw, dtype, shape, bool(is_fortran))
        else:
            raise FormatError("the pickle gives a state to something that has none")

    def array(self, raw: Any, dtype: Any, shape: Any, is_fortran: bool) -> np.ndarray:
        """Return a new array."""
        if type(shape) is int:
            shape = (shape,)
        if type(raw) is str:  # written by Python 2
            raw = raw.encode("latin1")
        if not isinstance(dtype, _Dtype) or type(raw) is not bytes or type(shape) is not tuple:
            raise FormatError("the pickle describes an array by something else than a dtype, a shape and bytes")
        if not all(type(size) is int for size in shape):
            raise FormatError("an array's shape is not of whole numbers")
        self.spend("arrays", len(raw))
        return array_of(raw, dtype_of(dtype.order + dtype.text), shape, is_fortran)


# ---- what names make -------------------------------------------------------------------------------------------------
def _reconstruct(machine: Machine, of: Any, shape: Any, code: Any) -> _Array:
    if not isinstance(of, _Name) or not of.text.endswith(".ndarray"):
        raise FormatError("the pickle describes an array of an unknown class")
    return _Array()


def _dtype(machine: Machine, text: Any, *flags: Any) -> _Dtype:
    text = text.decode("latin1") if isinstance(text, bytes) else text
    if not isinstance(text, str) or len(flags) > 2:
        raise FormatError("the pickle describes a dtype by something that is not text")
    dtype_of(text)
    return _Dtype(text.lstrip("<>|="))


def _order_of(state: Any) -> str:
    order = state[1] if type(state) is tuple and len(state) >= 8 else None
    order = order.decode("latin1") if isinstance(order, bytes) else order
    if order not in ("<", ">", "|", "=") or any(item is not None for item in state[2:5]):
        raise FormatError("the pickle describes a dtype that is not of plain numbers or text")
    return str(order)


def _scalar(machine: Machine, dtype: Any, raw: Any) -> Any:
    return machine.array(raw, dtype, (), False)[()]


def _from_buffer(machine: Machine, raw: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    return machine.array(raw, dtype, shape, order == "F")


def _encode(machine: Machine, text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise FormatError("the pickle encodes something else than bytes")
    machine.spend("bytes", len(text))
    return text.encode("latin1")


def _bytes(machine: Machine) -> bytes:
    return b""


def _tuple(machine: Machine, items: Any = ()) -> tuple[Any, ...]:
    if type(items) not in (tuple, list):
        raise FormatError("the pickle makes a tuple of something else than items")
    machine.spend("tuples", len(items))
    return tuple(items)


def _complex(machine: Machine, real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise FormatError("the pickle makes a complex number of something else than numbers")
    return complex(real, imaginary)


def _ordered(machine: Machine) -> OrderedDict[Any, Any]:
    return OrderedDict()


def _refuse_call(machine: Machine, *args: Any) -> Any:
    raise FormatError("the pickle calls the class of arrays")


_MAKERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): _ordered,
    ("numpy", "ndarray"): _refuse_call,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    ("builtins", "bytes"): _bytes,
    ("__builtin__", "bytes"): _bytes,
    ("builtins", "tuple"): _tuple,  # Paddle writes a Tensor within a container as tuple((name, array))
    ("__builtin__", "tuple"): _tuple,
    ("builtins", "complex"): _complex,
    ("__builtin__", "complex"): _complex,
}
for _core in ("numpy.core", "numpy._core"):
    _MAKERS[f"{_core}.multiarray", "_reconstruct"] = _reconstruct
    _MAKERS[f"{_core}.multiarray", "scalar"] = _scalar
    _MAKERS[f"{_core}.numeric", "_frombuffer"] = _from_buffer


def _is_flat(key: Any) -> bool:
    return type(key) is tuple and len(key) < 9 and all(part is None or isinstance(part, (str, int)) for part in key)


def is_token(item: Any) -> bool:
    """Return whether something stands for a name or a dtype, which is not a value."""
    return isinstance(item, (_Name, _Dtype))
