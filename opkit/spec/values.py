"""Values: how C++'s numbers, vectors, shapes and maps behave, for generated code.

Nothing of the op language here; contexts and builders stand in ``contexts``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from opkit.spec.faults import Fatal

__all__ = [
    "Cell",
    "Desc",
    "FieldPointer",
    "ItemPointer",
    "Iterator",
    "Meter",
    "Shape",
    "Stream",
    "at",
    "f32",
    "idiv",
    "irem",
    "show",
]

T = TypeVar("T")

#: Bounds of a single call: loop iterations, elements of a vector, characters of a string.
MOST_STEPS = 1_000_000
MOST_ELEMENTS = 100_000
_I64 = 1 << 63
_M64 = (1 << 64) - 1
_MOST_AXES = 20


class Meter:
    """Counts the loop iterations of one call, so that no spec can hang."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0

    def tick(self) -> bool:
        """Count one iteration; True, so that it can stand in a loop's condition."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Fatal(f"more than {MOST_STEPS:,} loop iterations; does this loop end?")
        return True

    def span(self, begin: int, end: int) -> range:
        """Return the iterations of a counting loop, after counting them all."""
        if end > begin:
            self.steps += end - begin
            if self.steps > MOST_STEPS:
                raise Fatal(f"a loop from {begin} to {end} has more than {MOST_STEPS:,} iterations")
        return range(begin, end)


METER = Meter()

# -- integers ------------------------------------------------------------------------------------


def idiv(a: int, b: int) -> int:
    """Divide as C++ does: towards zero."""
    if b == 0:
        raise Fatal(f"division by zero: {a} / 0")
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def irem(a: int, b: int) -> int:
    """Return C++'s remainder; it has the sign of the dividend."""
    if b == 0:
        raise Fatal(f"division by zero: {a} % 0")
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def to_signed(a: int, bits: int) -> int:
    """Convert to a signed integer of so many bits, keeping the low ones."""
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


# -- strings and streams -------------------------------------------------------------------------


def cat(a: str, b: str) -> str:
    """Join two strings, within bounds."""
    if len(a) + len(b) > MOST_ELEMENTS:
        raise Fatal(f"a string of more than {MOST_ELEMENTS:,} characters")
    return a + b


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
    """Do as std::string::substr."""
    if not 0 <= start <= len(text):
        raise Fatal(f"substr from {start} of a string of {len(text)} characters")
    return text[start:] if count is None else text[start : start + count]


def string_find(text: str, piece: str) -> int:
    """Do as std::string::find; npos is the largest size_t."""
    found = text.find(piece)
    return found if found >= 0 else _M64


def string_rfind(text: str, piece: str) -> int:
    """Do as std::string::rfind."""
    found = text.rfind(piece)
    return found if found >= 0 else _M64


def compare_part(text: str, start: int, count: int, other: str) -> int:
    """Do as std::string::compare of a part."""
    return string_compare(substr(text, start, count), other)


def parse_int(text: str, bits: int) -> int:
    """Do as std::stoi and its like: the number at the front of a string, if it fits."""
    kept = text.strip()
    end = 1 if kept[:1] in "+-" else 0
    while end < len(kept) and kept[end] in "0123456789":
        end += 1
    try:
        number = int(kept[:end])
    except ValueError:
        raise Fatal(f"{text!r} holds no number") from None
    if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        return number
    raise Fatal(f"{number} does not fit {bits} bits")


def char_at(text: str, index: int) -> int:
    """Return a character as a number."""
    return ord(at(text, index))


def string_compare(a: str, b: str) -> int:
    """Do as std::string::compare."""
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
            shown = show(value)
            self.size += len(shown)
            if self.size > MOST_ELEMENTS:
                raise Fatal(f"a string of more than {MOST_ELEMENTS:,} characters")
            self.text.append(shown)
        return self

    def str(self) -> str:
        """Return what was written."""
        return "".join(self.text)


# -- vectors -------------------------------------------------------------------------------------


def at(items: Sequence[T], index: int) -> T:
    """Return an element, or fault where the index is out of range."""
    if 0 <= index < len(items):
        return items[index]
    raise Fatal(f"index {index} is out of range for {len(items)} element{'s' * (len(items) != 1)}")


def idx(items: Sequence[object], index: int) -> int:
    """Return an index that is in range, or fault."""
    if 0 <= index < len(items):
        return index
    raise Fatal(f"index {index} is out of range for {len(items)} element{'s' * (len(items) != 1)}")


def front(items: Sequence[T]) -> T:
    """Return the first element, or fault where there is none."""
    if items:
        return items[0]
    raise Fatal("front() of an empty container")


def back(items: Sequence[T]) -> T:
    """Return the last element, or fault where there is none."""
    if items:
        return items[-1]
    raise Fatal("back() of an empty container")


def filled(count: int, value: T, copy: Callable[[T], T] | None = None) -> list[T]:
    """Return a vector of equal elements."""
    if not 0 <= count <= MOST_ELEMENTS:
        raise Fatal(f"a vector of {count:,} elements")
    return [copy(value) for _ in range(count)] if copy else [value] * count


def axes(items: list[int]) -> list[int]:
    """Check the size of a DimVector: it holds at most 20 elements."""
    if len(items) > _MOST_AXES:
        raise Fatal(f"a DimVector holds at most {_MOST_AXES} elements, not {len(items)}")
    return items


def push(items: list[T], value: T) -> None:
    """Append an element, within bounds."""
    if len(items) >= MOST_ELEMENTS:
        raise Fatal(f"a vector of more than {MOST_ELEMENTS:,} elements")
    items.append(value)


def push_axis(items: list[int], value: int) -> None:
    """Append to a DimVector."""
    if len(items) >= _MOST_AXES:
        raise Fatal(f"a DimVector holds at most {_MOST_AXES} elements")
    items.append(value)


def pop(items: list[T]) -> None:
    """Remove the last element, or fault where there is none."""
    if not items:
        raise Fatal("pop_back() of an empty container")
    items.pop()


def resize(items: list[T], count: int, value: T) -> None:
    """Change the number of elements."""
    if not 0 <= count <= MOST_ELEMENTS:
        raise Fatal(f"a vector of {count:,} elements")
    del items[count:]
    items.extend([value] * (count - len(items)))


def swap(a: list[T], b: list[T]) -> None:
    """Exchange the elements of two vectors."""
    a[:], b[:] = b[:], a[:]


def assign(items: list[T], values: Iterable[T]) -> None:
    """Replace all elements."""
    items[:] = values


class Iterator(Generic[T]):
    """A random-access iterator: a container and an index."""

    __slots__ = ("index", "items")

    def __init__(self, items: list[T], index: int) -> None:
        self.items = items
        self.index = index

    @property
    def v(self) -> T:
        """The element it points at."""
        return at(self.items, self.index)

    @v.setter
    def v(self, value: T) -> None:
        self.items[idx(self.items, self.index)] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterator) and self.items is other.items and self.index == other.index

    def __lt__(self, other: Iterator[T]) -> bool:
        return self.index < other.index

    def __hash__(self) -> int:
        return hash(self.index)

    def __add__(self, count: int) -> Iterator[T]:
        return Iterator(self.items, self.index + count)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Iterator):
            return self.index - other.index
        return Iterator(self.items, self.index - other)

    def place(self) -> int:
        """Return the index, which may be the end."""
        if 0 <= self.index <= len(self.items):
            return self.index
        raise Fatal("an iterator outside of its container")


class ReverseIterator(Iterator[T]):
    """A reverse iterator: it moves towards the front."""

    __slots__ = ()

    def __add__(self, count: int) -> ReverseIterator[T]:
        return ReverseIterator(self.items, self.index - count)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Iterator):
            return other.index - self.index
        return ReverseIterator(self.items, self.index + other)


def between(first: Any, last: Any) -> list[Any]:
    """Return the elements from one iterator up to another."""
    if isinstance(first, Iterator):
        if not isinstance(last, Iterator) or first.items is not last.items:
            raise Fatal("two iterators of different containers")
        if isinstance(first, ReverseIterator):
            return list(first.items[last.index + 1 : first.index + 1][::-1])
        if first.place() > last.place():
            raise Fatal("the first iterator lies after the last")
        return list(first.items[first.index : last.index])
    return list(first.between(last))


def extend(items: list[T], values: Sequence[T]) -> list[T]:
    """Append elements, as an algorithm does through std::back_inserter."""
    if len(items) + len(values) > MOST_ELEMENTS:
        raise Fatal(f"a vector of more than {MOST_ELEMENTS:,} elements")
    items.extend(values)
    return items


def write_from(target: Iterator[T], values: Sequence[T]) -> Iterator[T]:
    """Write elements where an iterator points."""
    end = target.index + len(values)
    if target.index < 0 or end > len(target.items):
        raise Fatal(f"writing {len(values)} elements past the end of a vector of {len(target.items)}")
    target.items[target.index : end] = values
    return Iterator(target.items, end)


def insert(items: list[T], place: Iterator[T], values: Sequence[T], most: int = MOST_ELEMENTS) -> Iterator[T]:
    """Insert elements before an iterator."""
    if len(items) + len(values) > most:
        raise Fatal(f"a vector of more than {most:,} elements")
    index = place.place()
    items[index:index] = values
    return Iterator(items, index)


def erase(items: list[T], first: Iterator[T], last: Iterator[T] | None = None) -> Iterator[T]:
    """Remove elements from one iterator up to another, or the one element."""
    begin = first.place()
    end = begin + 1 if last is None else last.place()
    if end > len(items) or end < begin:
        raise Fatal("erasing past the end of a vector")
    del items[begin:end]
    return Iterator(items, begin)


def remove(first: Iterator[T], last: Iterator[T], value: T) -> Iterator[T]:
    """Do as std::remove: move what stays to the front and return the new end."""
    kept = [item for item in between(first, last) if item != value]
    return write_from(first, kept)


def find(first: Any, last: Any, value: object) -> Any:
    """Do as std::find."""
    values = between(first, last)
    return first + values.index(value) if value in values else last


def iota(first: Iterator[int], last: Iterator[int], start: int) -> None:
    """Do as std::iota."""
    count = last.index - first.index
    write_from(first, list(range(start, start + max(count, 0))))


def sort(first: Iterator[Any], last: Iterator[Any], less: Callable[[Any, Any], bool] | None = None) -> None:
    """Do as std::sort."""
    from functools import cmp_to_key

    values = between(first, last)
    if less is None:
        values.sort()
    else:
        values.sort(key=cmp_to_key(lambda a, b: -1 if less(a, b) else (1 if less(b, a) else 0)))
    write_from(first, values)


# -- pointers to scalars -------------------------------------------------------------------------


class Cell:
    """A scalar variable whose address is taken."""

    __slots__ = ("v",)

    def __init__(self, v: Any = None) -> None:
        self.v = v


class ItemPointer:
    """A pointer to an element of a vector."""

    __slots__ = ("index", "items")

    def __init__(self, items: list[Any], index: int) -> None:
        self.items = items
        self.index = idx(items, index)

    @property
    def v(self) -> Any:
        """The element."""
        return at(self.items, self.index)

    @v.setter
    def v(self, value: Any) -> None:
        self.items[idx(self.items, self.index)] = value


class FieldPointer:
    """A pointer to a field of an object."""

    __slots__ = ("field", "owner")

    def __init__(self, owner: Any, field: str) -> None:
        self.owner = owner
        self.field = field

    @property
    def v(self) -> Any:
        """The field's value."""
        return getattr(self.owner, self.field)

    @v.setter
    def v(self, value: Any) -> None:
        setattr(self.owner, self.field, value)


def field_pointer(owner: Any, field: str) -> FieldPointer | None:
    """Return a pointer to a field, null where the object is missing."""
    return None if owner is None else FieldPointer(owner, field)


class Record:
    """An object of a struct that the spec defines; its fields are its attributes."""

    def set(self, **fields: Any) -> Record:
        """Set fields and return itself."""
        self.__dict__.update(fields)
        return self

    def assign(self, other: Record) -> None:
        """Become a copy of another."""
        self.__dict__.update({name: _copied(value) for name, value in other.__dict__.items()})

    def copy(self) -> Record:
        """Return a copy, with copies of what its fields hold."""
        made = Record()
        made.assign(self)
        return made


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, Shape):
        return Shape(value.dims)
    return value.copy() if hasattr(value, "copy") else value


# -- shapes and tensor descriptions --------------------------------------------------------------


class Shape:
    """OneFlow's Shape: its sizes are a tuple, so that copying one is copying a reference."""

    __slots__ = ("dims",)

    def __init__(self, dims: tuple[int, ...] = ()) -> None:
        self.dims = dims

    def at(self, index: int) -> int:
        """Return one size, or fault where the axis is out of range."""
        dims = self.dims
        if 0 <= index < len(dims):
            return dims[index]
        raise Fatal(f"axis {index} is out of range for shape {self}")

    def set(self, index: int, size: int) -> None:
        """Change one size."""
        dims = self.dims
        if not 0 <= index < len(dims):
            raise Fatal(f"axis {index} is out of range for shape {self}")
        self.dims = (*dims[:index], size, *dims[index + 1 :])

    def count(self, begin: int, end: int | None = None) -> int:
        """Return the product of sizes from one axis up to another."""
        end = len(self.dims) if end is None else end
        if not 0 <= begin <= end <= len(self.dims):
            raise Fatal(f"axes {begin} to {end} are out of range for shape {self}")
        return to_i64(math.prod(self.dims[begin:end]))

    def elements(self) -> int:
        """Return the number of elements; an empty Shape has 0, as in OneFlow."""
        return to_i64(math.prod(self.dims)) if self.dims else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.dims == other.dims

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        return "(" + ",".join(map(str, self.dims)) + ("," if len(self.dims) == 1 else "") + ")"


def shape_of(dims: Sequence[int]) -> Shape:
    """Make a Shape of sizes."""
    if len(dims) > _MOST_AXES:
        raise Fatal(f"a Shape holds at most {_MOST_AXES} axes, not {len(dims)}")
    return Shape(tuple(dims))


class Desc:
    """A TensorDesc that infer functions read and write."""

    __slots__ = ("dtype", "is_dynamic", "shape")

    def __init__(self, shape: Shape, dtype: str, is_dynamic: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    def assign(self, other: Desc) -> None:
        """Become a copy of another."""
        self.shape.dims = other.shape.dims
        self.dtype = other.dtype
        self.is_dynamic = other.is_dynamic

    def copy(self) -> Desc:
        """Return a copy."""
        return Desc(Shape(self.shape.dims), self.dtype, self.is_dynamic)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Desc)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.is_dynamic == other.is_dynamic
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.is_dynamic))

    def __str__(self) -> str:
        return f"{self.dtype}{self.shape}"
