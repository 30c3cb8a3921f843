"""Plain containers, numbers, texts and arrays out of a pickle, by an interpreter that can make nothing else."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from opkit.foreign.files import FormatError
from opkit.foreign.machine import MARK, Machine, NamesCodeError, is_token

__all__ = ["NamesCodeError", "read_pickle"]

_DEEPEST = 100
#: The longest whole number, in bytes.
_LONGEST_WHOLE = 1024


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
        found = _run(Machine(data))
    except FormatError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, struct.error, OverflowError) as error:
        raise FormatError(f"it is not a pickle, or is damaged ({type(error).__name__}: {error})") from error
    _check_tree(found)
    return found


def _run(machine: Machine) -> Any:
    """Return the object that is left on the stack."""
    if machine.data[:1] != b"\x80" or machine.take(2)[1] not in (2, 3, 4, 5):
        raise FormatError("it does not begin like a pickle of protocol 2 to 5")
    while True:
        code = machine.take(1)[0]
        if code == _STOP:
            if len(machine.stack) != 1 or machine.stack[0] is MARK:
                raise FormatError("the pickle ends with other than one object")
            return machine.settled(machine.stack[0])
        step = _STEPS.get(code)
        if step is None:
            raise FormatError(
                f"the pickle does something at byte {machine.at - 1} that containers and arrays do not need"
            )
        step(machine)


# ---- opcodes ---------------------------------------------------------------------------------------------------------
def _push(value: Any) -> Callable[[Machine], None]:
    return lambda machine: machine.stack.append(value)


def _fresh(kind: Callable[[], Any]) -> Callable[[Machine], None]:
    return lambda machine: machine.stack.append(kind())


def _whole(count: int, *, signed: bool = False) -> Callable[[Machine], None]:
    return lambda machine: machine.stack.append(int.from_bytes(machine.take(count), "little", signed=signed))


def _long(count: int) -> Callable[[Machine], None]:
    def step(machine: Machine) -> None:
        length = machine.number(count)
        if length > _LONGEST_WHOLE:
            raise FormatError(f"the pickle holds a whole number of {length} bytes")
        machine.stack.append(int.from_bytes(machine.take(length), "little", signed=True))

    return step


def _block(count: int, encoding: str = "") -> Callable[[Machine], None]:
    if not encoding:
        return lambda machine: machine.stack.append(machine.block(count))
    errors = "surrogatepass" if encoding == "utf-8" else "strict"
    return lambda machine: machine.stack.append(machine.block(count).decode(encoding, errors))


def _last(count: int) -> Callable[[Machine], None]:
    def step(machine: Machine) -> None:
        items = [machine.settled(machine.pop()) for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return step


def _float(machine: Machine) -> None:
    machine.stack.append(struct.unpack(">d", machine.take(8))[0])


def _frame(machine: Machine) -> None:
    machine.take(8)  # how long the frame is, which nothing here depends on


def _group(machine: Machine) -> None:
    machine.stack.append(tuple(machine.to_mark()))


def _append(machine: Machine) -> None:
    machine.append([machine.settled(machine.pop())])


def _set_item(machine: Machine) -> None:
    value, key = machine.settled(machine.pop()), machine.pop()
    machine.set_items([key, value])


def _global(machine: Machine) -> None:
    module = machine.line()
    machine.name(module, machine.line())


def _stack_global(machine: Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise FormatError("the pickle gives a name that is not text")
    machine.name(module, name)


_STOP = ord(".")
_STEPS: dict[int, Callable[[Machine], None]] = {
    ord("("): _push(MARK),
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
    ord("R"): Machine.reduce,
    ord("b"): Machine.build,
    ord("a"): _append,
    ord("e"): lambda machine: machine.append(machine.to_mark()),
    ord("s"): _set_item,
    ord("u"): lambda machine: machine.set_items(machine.to_mark()),
}


# ---- the whole -------------------------------------------------------------------------------------------------------
def _check_tree(found: Any) -> None:
    """Refuse what refers to itself, is nested too deep, or holds what stands for a name."""
    heights: dict[int, int] = {}

    def height(item: Any, depth: int) -> int:
        if is_token(item):
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
