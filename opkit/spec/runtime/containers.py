"""Containers: how C++'s vectors, iterators, algorithms and pointers to scalars behave, for generated code.

Maps are in ``hashing``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any, Generic, TypeVar

from opkit.record import mutable_entity
from opkit.spec.runtime.arithmetic import METER, MOST_ELEMENTS
from opkit.spec.runtime.faults import FatalError

__all__ = [
    "Cell",
    "FieldPointer",
    "ItemPointer",
    "Iterator",
    "MOST_AXES",
    "ReverseIterator",
    "assign",
    "at",
    "axes",
    "back",
    "between",
    "copy_of",
    "char_at",
    "erase",
    "extend",
    "field_pointer",
    "filled",
    "find",
    "front",
    "idx",
    "insert",
    "iota",
    "pop",
    "push",
    "push_axis",
    "remove",
    "resize",
    "sort",
    "swap",
    "write_from",
]

T = TypeVar("T")

MOST_AXES = 20
#: Elements that need not be counted when they are moved: the loop or call that moves them is.
_FEW = 32


def char_at(text: str, index: int) -> int:
    """Return a character as a number."""
    return ord(at(text, index))


def at(items: Sequence[T], index: int) -> T:
    """Return an element, or raise a fault where the index is out of range."""
    if 0 <= index < len(items):
        return items[index]
    raise FatalError(f"index {index} is out of range for {len(items)} element{'s' * (len(items) != 1)}")


def idx(items: Sequence[object], index: int) -> int:
    """Return an index that is in range, or raise a fault."""
    if 0 <= index < len(items):
        return index
    raise FatalError(f"index {index} is out of range for {len(items)} element{'s' * (len(items) != 1)}")


def front(items: Sequence[T]) -> T:
    """Return the first element, or raise a fault where there is none."""
    if items:
        return items[0]
    raise FatalError("front() of an empty container")


def back(items: Sequence[T]) -> T:
    """Return the last element, or raise a fault where there is none."""
    if items:
        return items[-1]
    raise FatalError("back() of an empty container")


def copy_of(value: Any) -> Any:
    """Return a value of its own: lists and objects are copied, what cannot change is not."""
    if isinstance(value, list):
        METER.move(len(value))
        return [copy_of(item) for item in value]
    return value.copy() if hasattr(value, "copy") else value


def filled(count: int, value: T) -> list[T]:
    """Return a vector of equal elements, each of its own."""
    if not 0 <= count <= MOST_ELEMENTS:
        raise FatalError(f"a vector of {count:,} elements")
    if count > _FEW:
        METER.move(count)
    return _repeated(value, count)


def _repeated(value: T, count: int) -> list[T]:
    if isinstance(value, (int, float, str)):
        return [value] * count
    return [copy_of(value) for _ in range(count)]


def axes(items: list[int]) -> list[int]:
    """Check the size of a DimVector: it holds at most 20 elements."""
    if len(items) > MOST_AXES:
        raise FatalError(f"a DimVector holds at most {MOST_AXES} elements, not {len(items)}")
    return items


def push(items: list[T], value: T) -> None:
    """Append an element, within bounds."""
    if len(items) >= MOST_ELEMENTS:
        raise FatalError(f"a vector of more than {MOST_ELEMENTS:,} elements")
    items.append(value)


def push_axis(items: list[int], value: int) -> None:
    """Append to a DimVector."""
    if len(items) >= MOST_AXES:
        raise FatalError(f"a DimVector holds at most {MOST_AXES} elements")
    items.append(value)


def pop(items: list[T]) -> None:
    """Remove the last element, or raise a fault where there is none."""
    if not items:
        raise FatalError("pop_back() of an empty container")
    items.pop()


def resize(items: list[T], count: int, value: T) -> None:
    """Change the number of elements."""
    if not 0 <= count <= MOST_ELEMENTS:
        raise FatalError(f"a vector of {count:,} elements")
    if count > _FEW:
        METER.move(count)
    del items[count:]
    items.extend(_repeated(value, count - len(items)))


def swap(a: list[T], b: list[T]) -> None:
    """Exchange the elements of two vectors."""
    METER.move(len(a) + len(b))
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
        return bool(self - other < 0)

    def __le__(self, other: Iterator[T]) -> bool:
        return bool(self - other <= 0)

    def __gt__(self, other: Iterator[T]) -> bool:
        return bool(self - other > 0)

    def __ge__(self, other: Iterator[T]) -> bool:
        return bool(self - other >= 0)

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
        count = len(self.items)
        side = f"{-self.index} before the begin()" if self.index < 0 else f"{self.index - count} past the end()"
        raise FatalError(f"an iterator {side} of a container of {count} element{'s' * (count != 1)}")


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
            raise FatalError("two iterators of different containers")
        if len(first.items) > _FEW:
            METER.move(abs(last.index - first.index))
        if isinstance(first, ReverseIterator):
            return list(first.items[last.index + 1 : first.index + 1][::-1])
        if first.place() > last.place():
            raise FatalError("the first iterator lies after the last")
        return list(first.items[first.index : last.index])
    return list(first.between(last))


def extend(items: list[T], values: Sequence[T]) -> list[T]:
    """Append elements, as an algorithm does through std::back_inserter."""
    if len(items) + len(values) > MOST_ELEMENTS:
        raise FatalError(f"a vector of more than {MOST_ELEMENTS:,} elements")
    if len(values) > _FEW:
        METER.move(len(values))
    items.extend(values)
    return items


def write_from(target: Iterator[T], values: Sequence[T]) -> Iterator[T]:
    """Write elements where an iterator points."""
    if len(values) > _FEW:
        METER.move(len(values))
    end = target.index + len(values)
    if target.index < 0 or end > len(target.items):
        raise FatalError(f"writing {len(values)} elements past the end of a vector of {len(target.items)}")
    target.items[target.index : end] = values
    return Iterator(target.items, end)


def insert(items: list[T], place: Iterator[T], values: Sequence[T], most: int = MOST_ELEMENTS) -> Iterator[T]:
    """Insert elements before an iterator."""
    if len(items) + len(values) > most:
        raise FatalError(f"a vector of more than {most:,} elements")
    # What lies behind is moved as a block, which is much quicker than element by element.
    if len(items) + len(values) > _FEW:
        METER.move(len(values) + (len(items) >> 4))
    index = place.place()
    items[index:index] = values
    return Iterator(items, index)


def erase(items: list[T], first: Iterator[T], last: Iterator[T] | None = None) -> Iterator[T]:
    """Remove elements from one iterator up to another, or the one element."""
    begin = first.place()
    end = begin + 1 if last is None else last.place()
    if end > len(items) or end < begin:
        raise FatalError("erasing past the end of a vector")
    if len(items) > _FEW:
        METER.move(len(items) >> 4)
    del items[begin:end]
    return Iterator(items, begin)


def remove(first: Iterator[T], last: Iterator[T], value: T) -> Iterator[T]:
    """Behave like std::remove: move what stays to the front and return the new end."""
    kept = [item for item in between(first, last) if item != value]
    return write_from(first, kept)


def find(first: Any, last: Any, value: object) -> Any:
    """Behave like std::find."""
    values = between(first, last)
    return first + values.index(value) if value in values else last


def iota(first: Iterator[int], last: Iterator[int], start: int) -> None:
    """Behave like std::iota."""
    count = last.index - first.index
    write_from(first, list(range(start, start + max(count, 0))))


def sort(first: Iterator[Any], last: Iterator[Any], less: Callable[[Any, Any], bool] | None = None) -> None:
    """Behave like std::sort."""
    values = between(first, last)
    if less is None:
        METER.move(len(values) * len(values).bit_length())
        values.sort()
    else:
        values.sort(key=cmp_to_key(lambda a, b: -1 if less(a, b) else (1 if less(b, a) else 0)))
    write_from(first, values)


@mutable_entity
class Cell:
    """A scalar variable whose address is taken."""

    v: Any = None


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


@mutable_entity
class FieldPointer:
    """A pointer to a field of an object."""

    owner: Any
    field: str

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
