"""HashMap and HashSet in the order in which libstdc++ iterates them; std::map and std::set in theirs.

The order shows in sharding signatures that a definition builds by walking a map.

Source: libstdc++ 12, bits/hashtable.h (nodes go to the front of their bucket, or of the list), bits/hashtable_policy.h.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opkit.record import mutable_entity
from opkit.spec.runtime.arithmetic import METER, MOST_ELEMENTS
from opkit.spec.runtime.faults import FatalError

_BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933)
_MASK = (1 << 64) - 1
_MUL = 0xC6A4A7935BD1E995


def string_hash(text: str) -> int:
    """Return libstdc++'s std::hash of a string on 64 bits (MurmurHash64A, seed 0xc70f6907)."""
    data = text.encode("utf-8", "surrogatepass")
    value = 0xC70F6907 ^ (len(data) * _MUL & _MASK)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        word = int.from_bytes(data[start : start + 8], "little") * _MUL & _MASK
        word = (word ^ word >> 47) * _MUL & _MASK
        value = (value ^ word) * _MUL & _MASK
    if len(data) & 7:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MUL & _MASK
    value = (value ^ value >> 47) * _MUL & _MASK
    return value ^ value >> 47


def _hash(key: Any) -> int:
    if isinstance(key, str):
        return string_hash(key)
    if isinstance(key, int):
        return key & _MASK
    return hash(key) & _MASK


@mutable_entity
class MapIterator:
    """An iterator into a map or set; ``key`` is None at the end."""

    owner: HashMap
    key: Any
    at_end: bool

    def between(self, last: MapIterator) -> list[Any]:
        """Return what lies up to another iterator: keys of a set, pairs of a map."""
        if self.at_end:
            return []
        items = self.owner.items() if self.owner.is_map else list(self.owner)
        METER.move(len(items))
        keys = list(self.owner)
        start = keys.index(self.key)
        stop = len(keys) if last.at_end else keys.index(last.key)
        return items[start:stop]

    @property
    def first(self) -> Any:
        """The key."""
        if self.at_end:
            raise FatalError("the end() of a map is read")
        return self.key

    @property
    def second(self) -> Any:
        """The value."""
        if self.at_end:
            raise FatalError("the end() of a map is read")
        return self.owner.data[self.key]

    @second.setter
    def second(self, value: Any) -> None:
        if self.at_end:
            raise FatalError("the end() of a map is written to")
        self.owner.data[self.key] = value

    @property
    def v(self) -> Any:
        """The key of a set, the pair of a map."""
        return (self.first, self.second) if self.owner.is_map else self.first

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MapIterator)
            and self.owner is other.owner
            and (self.at_end, self.key) == (other.at_end, other.key)
        )

    def __hash__(self) -> int:
        return hash(self.key)


class HashMap:
    """A std::unordered_map, or a std::unordered_set whose values are None."""

    __slots__ = ("buckets", "data", "is_map", "order")

    def __init__(self, items: Iterable[Any] = (), is_map: bool = True) -> None:
        self.data: dict[Any, Any] = {}
        self.order: list[Any] = []
        self.buckets = 1
        self.is_map = is_map
        for item in items:
            if is_map:
                self.insert(item[0], item[1])
            else:
                self.insert(item)

    def insert(self, key: Any, value: Any = None) -> bool:
        """Insert unless the key is there; return whether it was inserted."""
        if key in self.data:
            return False
        if len(self.data) >= MOST_ELEMENTS:
            raise FatalError(f"a map of more than {MOST_ELEMENTS:,} elements")
        self.data[key] = value
        self.place(key)
        return True

    def place(self, key: Any) -> None:
        """Keep the iteration order after an insertion."""
        count = len(self.data)
        if count > self.buckets or self.buckets == 1:
            self.buckets = next(size for size in _BUCKETS if size > self.buckets and size >= count)
            old, self.order = self.order, []
            for item in old:
                self._link(item)
        self._link(key)

    def _link(self, key: Any) -> None:
        METER.move(4 * len(self.order))
        bucket = _hash(key) % self.buckets
        for place, other in enumerate(self.order):
            if _hash(other) % self.buckets == bucket:
                self.order.insert(place, key)
                return
        self.order.insert(0, key)

    def insert_pair(self, key: Any, value: Any = None) -> tuple[MapIterator, bool]:
        """Behave like ``emplace``: return the iterator and whether it was inserted."""
        inserted = self.insert(key, value)
        return MapIterator(self, key, False), inserted

    def put(self, key: Any, value: Any) -> None:
        """Behave like ``map[key] = value``."""
        if not self.insert(key, value):
            self.data[key] = value

    __setitem__ = put

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Behave like ``map[key]``: a missing key gets a default value."""
        if key not in self.data:
            self.insert(key, make())
        return self.data[key]

    def at(self, key: Any) -> Any:
        """Return a value, or raise a fault where the key is missing."""
        try:
            return self.data[key]
        except KeyError:
            raise FatalError(f"a map has no key {key!r}") from None

    def find(self, key: Any) -> MapIterator:
        """Return the iterator at a key, or the end."""
        return MapIterator(self, key, False) if key in self.data else self.end()

    def begin(self) -> MapIterator:
        """Return the iterator at the first element."""
        for key in self:
            return MapIterator(self, key, False)
        return self.end()

    def end(self) -> MapIterator:
        """Return the end."""
        return MapIterator(self, None, True)

    def erase(self, key: Any) -> int:
        """Remove a key or what an iterator points at; return how many were removed."""
        if isinstance(key, MapIterator):
            key = key.first
        if key not in self.data:
            return 0
        METER.move(len(self.order) >> 2)
        del self.data[key]
        self.order.remove(key)
        return 1

    def clear(self) -> None:
        """Remove everything."""
        self.data.clear()
        self.order.clear()

    def items(self) -> list[tuple[Any, Any]]:
        """Return the pairs in iteration order."""
        METER.move(len(self.data))
        return [(key, self.data[key]) for key in self]

    def copy(self) -> HashMap:
        """Return a copy with the same order."""
        made = type(self)((), self.is_map)
        made.assign(self)
        return made

    def assign(self, other: HashMap) -> None:
        """Become a copy of another."""
        METER.move(len(other.data))
        self.data, self.order, self.buckets = dict(other.data), list(other.order), other.buckets

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashMap) and self.data == other.data

    __hash__ = None  # type: ignore[assignment]


class OrderedMap(HashMap):
    """A std::map or std::set: iterated by ascending key."""

    __slots__ = ()

    def place(self, key: Any) -> None:
        """Keep the keys sorted."""
        METER.move(len(self.order) >> 4)
        self.order.insert(bisect_left(self.order, key), key)


def make_map(kind: str, items: Iterable[Any] = ()) -> HashMap:
    """Make a map, ordered_map, set or ordered_set of pairs or keys."""
    made = OrderedMap if kind.startswith("ordered") else HashMap
    return made(items, kind.endswith("map"))
