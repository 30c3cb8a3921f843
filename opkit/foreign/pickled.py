"""Plain containers, numbers, texts and arrays out of a pickle, by an interpreter that can make nothing else."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

from opkit.foreign.files import FormatError
from opkit.foreign.machine import MARK, Machine, NamesCodeError, is_token

__all__ = ["NamesCodeError", "read_pickle"]

_DEEPEST = 100
#: The longest whole number, in bits.
_LONGEST_WHOLE = 8 * 1024


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
    except (IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"it is not a pickle, or is damaged ({type(error).__name__}: {error})") from error
    _check_tree(found)
    return found


def _run(machine: Machine) -> Any:
    """Return the object that is left on the stack."""
    if machine.data[:1] != b"\x80" or machine.data[1:2] not in (b"\2", b"\3", b"\4", b"\5"):
        raise FormatError("it does not begin like a pickle of protocol 2 to 5")
    for code, argument, place in pickletools.genops(machine.data):
        if code.name == "STOP":
            if len(machine.stack) != 1 or machine.stack[0] is MARK:
                raise FormatError("the pickle ends with other than one object")
            return machine.settled(machine.stack[0])
        if code.name in _VALUES:
            machine.stack.append(_plain(argument))
        elif code.name in _STEPS:
            _STEPS[code.name](machine, argument)
        elif code.name not in ("PROTO", "FRAME"):
            raise FormatError(f"the pickle does something at byte {place} that containers and arrays do not need")
    raise FormatError("the pickle is truncated")


# ---- opcodes ---------------------------------------------------------------------------------------------------------
#: Opcodes whose argument is a value.
_VALUES = {
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_Step = Callable[[Machine, Any], None]


def _plain(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _LONGEST_WHOLE:
        raise FormatError(f"the pickle holds a whole number of {value.bit_length()} bits")
    return bytes(value) if isinstance(value, bytearray) else value


def _push(make: Callable[[], Any]) -> _Step:
    return lambda machine, _: machine.stack.append(make())


def _last(count: int) -> _Step:
    def step(machine: Machine, _: Any) -> None:
        items = [machine.settled(machine.pop()) for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return step


def _set_item(machine: Machine, _: Any) -> None:
    value, key = machine.settled(machine.pop()), machine.pop()
    machine.set_items([key, value])


def _global(machine: Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.name(module, name)


def _stack_global(machine: Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise FormatError("the pickle gives a name that is not text")
    machine.name(module, name)


_STEPS: dict[str, _Step] = {
    "MARK": _push(lambda: MARK),
    "NONE": _push(lambda: None),
    "NEWTRUE": _push(lambda: True),
    "NEWFALSE": _push(lambda: False),
    "EMPTY_DICT": _push(dict),
    "EMPTY_LIST": _push(list),
    "EMPTY_TUPLE": _push(tuple),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.to_mark())),
    "TUPLE1": _last(1),
    "TUPLE2": _last(2),
    "TUPLE3": _last(3),
    "BINPUT": Machine.remember,
    "LONG_BINPUT": Machine.remember,
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memo)),
    "BINGET": Machine.recall,
    "LONG_BINGET": Machine.recall,
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": lambda machine, _: machine.reduce(),
    "BUILD": lambda machine, _: machine.build(),
    "APPEND": lambda machine, _: machine.append([machine.settled(machine.pop())]),
    "APPENDS": lambda machine, _: machine.append(machine.to_mark()),
    "SETITEM": _set_item,
    "SETITEMS": lambda machine, _: machine.set_items(machine.to_mark()),
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
