"""Arithmetic: how C++'s integers, floats, strings and streams behave, for generated code.

Containers are in ``containers``, shapes in ``objects``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sized
from typing import Any

from opkit.spec.runtime.faults import FatalError

__all__ = [
    "METER",
    "MOST_ELEMENTS",
    "MOST_MOVED",
    "MOST_STEPS",
    "Meter",
    "Stream",
    "cat",
    "compare_part",
    "f32",
    "fdiv",
    "idiv",
    "irem",
    "parse_int",
    "shift_left",
    "shift_right",
    "show",
    "string_compare",
    "string_find",
    "string_rfind",
    "substr",
    "to_i32",
    "to_i64",
    "to_signed",
    "truncate",
]

#: Bounds of a single call: loop iterations and function calls; elements that are copied, compared or searched;
#: elements of a vector or characters of a string.
MOST_STEPS = 1_000_000
MOST_MOVED = 20_000_000
MOST_ELEMENTS = 100_000


_I64 = 1 << 63


_M64 = (1 << 64) - 1


class Meter:
    """Counts what one call does, so that no definition can hang or use up the memory."""

    __slots__ = ("moved", "steps")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with a new call."""
        self.steps = self.moved = 0

    def tick(self) -> bool:
        """Count one iteration; True, so that it can stand in a loop's condition."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise FatalError(f"more than {MOST_STEPS:,} loop iterations and function calls; does this loop end?")
        return True

    def enter(self, cost: int = 1) -> None:
        """Count one call of a function of the definition file, a constructor as several: what it makes takes memory."""
        steps = self.steps = self.steps + cost
        if steps > MOST_STEPS:
            raise FatalError(f"more than {MOST_STEPS:,} loop iterations and function calls; does this recursion end?")

    def move(self, count: int) -> None:
        """Count elements that are copied, compared, searched or made."""
        self.moved += count
        if self.moved > MOST_MOVED:
            raise FatalError(f"more than {MOST_MOVED:,} elements are made, copied, compared or searched")

    def each(self, items: Sized) -> Any:
        """Return a container to iterate over, after counting the iterations."""
        steps = self.steps = self.steps + len(items)
        if steps > MOST_STEPS:
            raise FatalError(
                f"a loop over {len(items):,} elements, and more than {MOST_STEPS:,} loop iterations and function calls"
            )
        return items

    def whole(self, items: Any) -> Any:
        """Return a container or string to compare or copy, after counting what it holds."""
        if len(items) > 32 or (items and type(items) is list and type(items[0]) in (list, str)):
            self.move(weight(items))
        return items

    def span(self, begin: int, end: int) -> range:
        """Return the iterations of a counting loop, after counting them all."""
        if end > begin:
            self.steps += end - begin
            if self.steps > MOST_STEPS:
                raise FatalError(
                    f"a loop from {begin} to {end}, and more than {MOST_STEPS:,} loop iterations and function calls"
                )
        return range(begin, end)


def weight(items: Any) -> int:
    """Return how many elements a value holds, those of its elements included; eight characters count as one."""
    if isinstance(items, str):
        return len(items) >> 3
    if isinstance(items, list):
        return len(items) + (sum(map(weight, items)) if items and isinstance(items[0], (list, str)) else 0)
    return len(items)


METER = Meter()


def idiv(a: int, b: int) -> int:
    """Divide as C++ does: towards zero."""
    if b == 0:
        raise FatalError(f"division by zero: {a} / 0")
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def irem(a: int, b: int) -> int:
    """Return C++'s remainder; it has the sign of the dividend."""
    if b == 0:
        raise FatalError(f"division by zero: {a} % 0")
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def to_signed(a: int, bits: int) -> int:
    """Convert to a signed integer of that many bits, keeping the low ones."""
    a &= (1 << bits) - 1
    return a - (1 << bits) if a >> (bits - 1) else a


def to_i32(a: int) -> int:
    """Convert to int32_t, keeping the low bits; overflow wraps, as in the code that compilers make of it."""
    return a if -0x80000000 <= a <= 0x7FFFFFFF else to_signed(a, 32)


def to_i64(a: int) -> int:
    """Convert to int64_t, keeping the low bits; overflow wraps."""
    return a if -_I64 <= a < _I64 else to_signed(a, 64)


_pack, _unpack = struct.Struct("f").pack, struct.Struct("f").unpack


def f32(a: float) -> float:
    """Round to the nearest float32."""
    try:
        return float(_unpack(_pack(a))[0])
    except OverflowError:
        return math.copysign(math.inf, a)


def fdiv(a: float, b: float) -> float:
    """Divide floats as IEEE does."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def truncate(a: float, bits: int, is_signed: bool) -> int:
    """Convert a float to an integer; what does not fit gives the lowest value, as on x86-64."""
    if a != a or math.isinf(a):
        whole = -_I64 if bits > 32 or not is_signed else -0x80000000
    else:
        whole = int(a)
        width = bits if bits >= 32 else 32
        limit = 1 << (width - 1 if is_signed else width)
        if not -(limit if is_signed else 1 << 63) <= whole < limit:
            whole = -_I64 if bits > 32 or not is_signed else -0x80000000
    return to_signed(whole, bits) if is_signed else whole & ((1 << bits) - 1)


def cat(a: str, b: str) -> str:
    """Join two strings, within bounds."""
    if len(a) + len(b) > MOST_ELEMENTS:
        raise FatalError(f"a string of more than {MOST_ELEMENTS:,} characters")
    if len(a) + len(b) > 256:
        METER.move((len(a) + len(b)) >> 3)
    return a + b


def shift_left(a: int, count: int, bits: int) -> int:
    """Behave like C++'s ``<<``, before the result is cut to its type; a count outside the type's bits is a fault."""
    if not 0 <= count < bits:
        raise FatalError(f"{a} << {count}: an integer of {bits} bits is shifted by 0 to {bits - 1}")
    return a << count


def shift_right(a: int, count: int, bits: int) -> int:
    """Behave like C++'s ``>>``; a count that the type does not have is a fault."""
    if not 0 <= count < bits:
        raise FatalError(f"{a} >> {count}: an integer of {bits} bits is shifted by 0 to {bits - 1}")
    return a >> count


def show(value: object) -> str:
    """Return what ``<<`` writes for a value."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "1" if value else "0"
    if kind is float:
        return f"{value:.6g}"
    if value is None:
        return "nullptr"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(item) for item in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(show(item) for item in value) + "]"
    return str(value)


def substr(text: str, start: int, count: int | None = None) -> str:
    """Behave like std::string::substr."""
    if not 0 <= start <= len(text):
        raise FatalError(f"substr from {start} of a string of {len(text)} characters")
    METER.move(len(text) >> 3)
    return text[start:] if count is None else text[start : start + count]


def string_find(text: str, piece: str) -> int:
    """Behave like std::string::find; npos is the largest size_t."""
    METER.move(len(text) >> 3)
    found = text.find(piece)
    return found if found >= 0 else _M64


def string_rfind(text: str, piece: str) -> int:
    """Behave like std::string::rfind."""
    # At worst each position is compared with the whole piece.
    METER.move(len(text) * len(piece) >> 8)
    found = text.rfind(piece)
    return found if found >= 0 else _M64


def compare_part(text: str, start: int, count: int, other: str) -> int:
    """Behave like std::string::compare of a part."""
    return string_compare(substr(text, start, count), other)


def parse_int(text: str, bits: int) -> int:
    """Behave like std::stoi and similar ones: the number at the front of a string, if it fits."""
    kept = text.strip()
    end = 1 if kept[:1] in "+-" else 0
    while end < len(kept) and kept[end] in "0123456789":
        end += 1
    try:
        number = int(kept[:end])
    except ValueError:
        raise FatalError(f"{text!r} holds no number") from None
    if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        return number
    raise FatalError(f"{number} does not fit {bits} bits")


def string_compare(a: str, b: str) -> int:
    """Behave like std::string::compare."""
    METER.move((len(a) + len(b)) >> 3)
    return (a > b) - (a < b)


class Stream:
    """A ``std::stringstream``."""

    __slots__ = ("size", "text")

    def __init__(self, text: str = "") -> None:
        self.text: list[str] = [text]
        self.size = len(text)

    def put(self, *values: object) -> Stream:
        """Write values, as a chain of ``<<`` does."""
        for value in values:
            shown = show(METER.whole(value) if isinstance(value, list) else value)
            self.size += len(shown)
            if self.size > MOST_ELEMENTS:
                raise FatalError(f"a string of more than {MOST_ELEMENTS:,} characters")
            self.text.append(shown)
        return self

    def str(self) -> str:
        """Return what was written."""
        METER.move(len(self.text) + (self.size >> 3))
        return "".join(self.text)
