"""Plain containers, numbers, texts and arrays out of a pickle, by an interpreter that can make nothing else.

The names that a pickle gives are only compared with the few that containers and arrays need; nothing is looked up,
imported or called. All of memory that is used is in proportion to the size of the data.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import OpkitError
from opkit.foreign.array import array_of, dtype_of
from opkit.foreign.files import FormatError

__all__ = ["NamesCodeError", "read_pickle"]

_DEEPEST = 100
_MARK = object()
#: The longest whole number, in bytes.
_LONGEST_WHOLE = 1024


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


def read_pickle(data: bytes) -> Any:
    """Return what a pickle of protocol 2 to 5 holds.

    Dicts, OrderedDicts, lists, tuples, None, truth values, numbers, texts, bytes and arrays of numbers, truth values or
    text; an object that the pickle refers to twice is one object.

    Args:
        data: the whole file.

    Raises:
        NamesCodeError: the pickle names something else.
        FormatError: it is not a pickle, is damaged, refers to itself, or is nested more than 100 deep.
    """
    try:
        found = _Machine(data).run()
    except FormatError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, struct.error, OverflowError) as error:
        raise FormatError(f"it is not a pickle, or is damaged ({type(error).__name__}: {error})") from error
    except OpkitError:
        raise
    _check_tree(found)
    return found


class _Machine:
    """The stack, the memo and what each opcode does to them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.spent: Counter[str] = Counter()

    def run(self) -> Any:
        """Return the object that is left on the stack."""
        if self.data[:1] != b"\x80" or self.take(2)[1] not in (2, 3, 4, 5):
            raise FormatError("it does not begin like a pickle of protocol 2 to 5")
        while True:
            code = self.take(1)[0]
            if code == _STOP:
                if len(self.stack) != 1 or self.stack[0] is _MARK:
                    raise FormatError("the pickle ends with other than one object")
                return self.settled(self.stack[0])
            step = _STEPS.get(code)
            if step is None:
                raise FormatError(
                    f"the pickle does something at byte {self.at - 1} that containers and arrays do not need"
                )
            step(self)

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise FormatError("the pickle is truncated")
        self.at += count
        return found

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def block(self, count: int) -> bytes:
        return self.take(self.number(count))

    def line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + 300)
        if end < 0:
            raise FormatError("the pickle gives a name that does not end")
        found = self.data[self.at : end]
        self.at = end + 1
        return found.decode("utf-8")

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise FormatError("the pickle takes more than it gave")
        return self.stack.pop()

    def to_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _MARK:
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
        held = self.stack[-1]
        if type(held) is not list:
            raise FormatError("the pickle appends to something that is not a list")
        held.extend(items)

    def set_items(self, items: list[Any]) -> None:
        held = self.stack[-1]
        if not isinstance(held, dict) or len(items) % 2:
            raise FormatError("the pickle puts entries into something that is not a dict")
        for key, value in zip(items[::2], items[1::2]):
            if not (key is None or isinstance(key, (str, bytes, int, float, np.generic)) or _is_flat(key)):
                raise FormatError(f"a dict of the pickle has a key that is a {type(key).__name__}")
            held[key] = value

    def remember(self, place: int) -> None:
        if not self.stack or self.stack[-1] is _MARK:
            raise FormatError("the pickle refers to nothing")
        self.memo[place] = self.stack[-1]

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise FormatError(f"the pickle refers to object {place}, which is not there")
        self.stack.append(self.memo[place])

    def name(self, module: str, name: str) -> None:
        make = _MAKERS.get((module, name))
        if make is None:
            raise NamesCodeError(f"the file refers to {module}.{name}, which is neither a container nor an array")
        self.stack.append(_Name(f"{module}.{name}", make))

    def reduce(self) -> None:
        args, called = self.pop(), self.pop()
        if not isinstance(called, _Name) or type(args) is not tuple:
            raise FormatError("the pickle calls something that is not a name")
        self.stack.append(called.make(self, *args))

    def build(self) -> None:
        state, item = self.pop(), self.stack[-1]
        if isinstance(item, _Dtype):
            item.order = _order_of(state)
        elif isinstance(item, _Array) and item.array is None:
            _, shape, dtype, is_fortran, raw = state
            item.array = self.array(raw, dtype, shape, bool(is_fortran))
        else:
            raise FormatError("the pickle gives a state to something that has none")

    def array(self, raw: Any, dtype: Any, shape: Any, is_fortran: bool) -> np.ndarray:
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
def _reconstruct(machine: _Machine, of: Any, shape: Any, code: Any) -> _Array:
    if not isinstance(of, _Name) or not of.text.endswith(".ndarray"):
        raise FormatError("the pickle describes an array of an unknown class")
    return _Array()


def _dtype(machine: _Machine, text: Any, *flags: Any) -> _Dtype:
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


def _scalar(machine: _Machine, dtype: Any, raw: Any) -> Any:
    return machine.array(raw, dtype, (), False)[()]


def _from_buffer(machine: _Machine, raw: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    return machine.array(raw, dtype, shape, order == "F")


def _encode(machine: _Machine, text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise FormatError("the pickle encodes something else than bytes")
    machine.spend("bytes", len(text))
    return text.encode("latin1")


def _bytes(machine: _Machine) -> bytes:
    return b""


def _tuple(machine: _Machine, items: Any = ()) -> tuple[Any, ...]:
    if type(items) not in (tuple, list):
        raise FormatError("the pickle makes a tuple of something else than items")
    machine.spend("tuples", len(items))
    return tuple(items)


def _complex(machine: _Machine, real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise FormatError("the pickle makes a complex number of something else than numbers")
    return complex(real, imaginary)


def _ordered(machine: _Machine) -> OrderedDict[Any, Any]:
    return OrderedDict()


def _refuse_call(machine: _Machine, *args: Any) -> Any:
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


# ---- opcodes ---------------------------------------------------------------------------------------------------------
def _push(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(value)


def _fresh(kind: Callable[[], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(kind())


def _whole(count: int, *, signed: bool = False) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(int.from_bytes(machine.take(count), "little", signed=signed))


def _long(count: int) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        length = machine.number(count)
        if length > _LONGEST_WHOLE:
            raise FormatError(f"the pickle holds a whole number of {length} bytes")
        machine.stack.append(int.from_bytes(machine.take(length), "little", signed=True))

    return step


def _block(count: int, encoding: str = "") -> Callable[[_Machine], None]:
    if not encoding:
        return lambda machine: machine.stack.append(machine.block(count))
    errors = "surrogatepass" if encoding == "utf-8" else "strict"
    return lambda machine: machine.stack.append(machine.block(count).decode(encoding, errors))


def _last(count: int) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        items = [machine.settled(machine.pop()) for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return step


def _float(machine: _Machine) -> None:
    machine.stack.append(struct.unpack(">d", machine.take(8))[0])


def _frame(machine: _Machine) -> None:
    machine.take(8)  # how long the frame is, which nothing here depends on


def _group(machine: _Machine) -> None:
    machine.stack.append(tuple(machine.to_mark()))


def _append(machine: _Machine) -> None:
    machine.append([machine.settled(machine.pop())])


def _set_item(machine: _Machine) -> None:
    value, key = machine.settled(machine.pop()), machine.pop()
    machine.set_items([key, value])


def _global(machine: _Machine) -> None:
    module = machine.line()
    machine.name(module, machine.line())


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise FormatError("the pickle gives a name that is not text")
    machine.name(module, name)


_STOP = ord(".")
_STEPS: dict[int, Callable[[_Machine], None]] = {
    ord("("): _push(_MARK),
    ord("N"): _push(None),
    0x88: _push(True),
    0x89: _push(False),
    ord("}"): _fresh(dict),
    ord("]"): _fresh(list),
    ord(")"): _push(()),
    ord("t"): _group,
    0x85: _last(1),
    0x86: _last(2),
    0x87: _last(3),
    ord("J"): _whole(4, signed=True),
    ord("K"): _whole(1),
    ord("M"): _whole(2),
    0x8A: _long(1),
    0x8B: _long(4),
    ord("G"): _float,
    ord("X"): _block(4, "utf-8"),
    0x8C: _block(1, "utf-8"),
    0x8D: _block(8, "utf-8"),
    ord("T"): _block(4, "latin1"),
    ord("U"): _block(1, "latin1"),
    ord("B"): _block(4),
    ord("C"): _block(1),
    0x8E: _block(8),
    0x96: _block(8),
    ord("q"): lambda machine: machine.remember(machine.number(1)),
    ord("r"): lambda machine: machine.remember(machine.number(4)),
    0x94: lambda machine: machine.remember(len(machine.memo)),
    ord("h"): lambda machine: machine.recall(machine.number(1)),
    ord("j"): lambda machine: machine.recall(machine.number(4)),
    0x95: _frame,
    ord("c"): _global,
    0x93: _stack_global,
    ord("R"): _Machine.reduce,
    ord("b"): _Machine.build,
    ord("a"): _append,
    ord("e"): lambda machine: machine.append(machine.to_mark()),
    ord("s"): _set_item,
    ord("u"): lambda machine: machine.set_items(machine.to_mark()),
}


# ---- the whole -------------------------------------------------------------------------------------------------------
def _is_flat(key: Any) -> bool:
    return type(key) is tuple and len(key) < 9 and all(part is None or isinstance(part, (str, int)) for part in key)


def _check_tree(found: Any) -> None:
    """Refuse what refers to itself, is nested too deep, or holds what stands for a name."""
    heights: dict[int, int] = {}

    def height(item: Any, depth: int) -> int:
        if isinstance(item, (_Name, _Dtype)):
            raise FormatError("the pickle holds a name or a dtype in the place of a value")
        parts = list(item.values()) if isinstance(item, dict) else item if type(item) in (list, tuple) else ()
        if not parts:
            return 0
        if id(item) not in heights:
            if depth > _DEEPEST:
                raise FormatError(f"the pickle refers to itself, or is nested more than {_DEEPEST} deep")
            heights[id(item)] = 1 + max(height(part, depth + 1) for part in parts)
        if depth + heights[id(item)] > _DEEPEST + 1:
            raise FormatError(f"the pickle is nested more than {_DEEPEST} deep")
        return heights[id(item)]

    height(found, 1)
