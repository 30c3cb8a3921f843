"""Loans: arrays, lists and options as calls get them, copied, and the bits that they were handed out with.

What a change means, and who is to blame, is custody's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_ as _is
from typing import Any, TypeAlias

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs
from opkit.checker.model.copies import (
    LARGE,
    PLAIN,
    copied,
    copied_alone,
    holds,
    is_same_option,
    option_copied,
)
from opkit.checker.model.evaluate import leaves_of

_ndarray = np.ndarray
_MISSING = object()
_NOTHING: Mapping[str, Any] = {}

#: What reads an array's bits; the bits that it must keep; itself; the shape and dtype that it must keep; the checker's
#: array that it is a copy of, None where it is not one. The bits are out of any kernel's reach. A tuple: many are made.
Kept: TypeAlias = tuple[Callable[[], bytes], bytes, np.ndarray, tuple[int, ...], np.dtype, "np.ndarray | None"]


def _in_place(array: np.ndarray, content: bytes) -> Callable[[], bytes]:
    """Return what gives these bits while an array holds them, others when it does not; a large array is not copied."""
    return lambda: content if holds(array, content) else b""


def kept(array: np.ndarray, own: np.ndarray | None = None) -> Kept:
    """Return what an array must go on holding: what it holds now, or what the array that it is a copy of does."""
    source = array if own is None else own
    content = source.tobytes()
    read = array.tobytes if len(content) < LARGE else _in_place(array, content)
    return read, content, array, source.shape, source.dtype, own


def are_untouched(every: Iterable[Kept]) -> bool:
    """Say whether arrays hold the bits, and have the shape and dtype, that stand with them."""
    for read, content, array, shape, dtype, _ in every:
        if read() != content or array.shape != shape or array.dtype is not dtype:
            return False
    return True


def changes(every: Iterable[Kept], values: Sequence[Any], what: str) -> list[str]:
    """Return the names of those of a function's values, or of what they are copies of, that were written to."""
    touched = [one for one in every if not are_untouched([one])]
    places = [
        place
        for place, value in enumerate(values)
        if any(value is array or value is own for _, _, array, _, _, own in touched)
    ]
    if len(values) == 1 or not places:  # none is found where a kernel changed the list, too
        return [what] if touched else []
    return [f"{what} {place}" for place in places]


def passed(source: Sequence[Any], is_reachable: bool = False) -> tuple[list[Any], list[Kept]]:
    """Return what a function gets of a list of arrays, and what must stay as it is; what is not an array is passed on.

    Args:
        source: the checker's arrays, or a kernel's results.
        is_reachable: a kernel may have kept them, so that they must stay as they are too.
    """
    values: list[Any] = []
    every: list[Kept] = []
    for item in source:
        if type(item) is not _ndarray:
            values.append(item)
            continue
        copy = item.copy()  # what copied_alone does, without a call
        if copy.strides != item.strides:
            copy = copied_alone(item)
        copy.setflags(False)
        values.append(copy)
        content, shape, dtype = item.tobytes(), item.shape, item.dtype
        if len(content) < LARGE:
            every.append((copy.tobytes, content, copy, shape, dtype, item))
            if is_reachable:
                every.append((item.tobytes, content, item, shape, dtype, item))
        else:
            every.append((_in_place(copy, content), content, copy, shape, dtype, item))
            if is_reachable:
                every.append((_in_place(item, content), content, item, shape, dtype, item))
    return values, every


def left(source: Sequence[Any]) -> list[Kept]:
    """Return what forward's results must go on holding."""
    every: list[Kept] = []
    for item in source:
        if type(item) is _ndarray:
            content = item.tobytes()
            read = item.tobytes if len(content) < LARGE else _in_place(item, content)
            every.append((read, content, item, item.shape, item.dtype, None))
    return every


def _is_current(loan: Kept) -> bool:
    """Say whether an array that was copied holds what it held then."""
    _, content, _, _, _, own = loan
    return own is None or (own.tobytes() == content if len(content) < LARGE else holds(own, content))


def _is_fixed(array: np.ndarray) -> bool:
    """Say whether numpy lets nobody write to an array's memory: neither it nor what owns the memory is writeable."""
    owner = array.base
    if owner is None:
        return not array.flags.writeable
    return type(owner) is _ndarray and owner.base is None and not (owner.flags.writeable or array.flags.writeable)


class Lent:
    """Forward's results, and the copies that backward gets of them; both must stay as they are.

    Attributes:
        source: the results, which a kernel may have kept.
        values: what backward gets; what is not an array is passed on.
        kept: what ``are_untouched`` looks at.
    """

    __slots__ = ("kept", "source", "values")

    def __init__(self, source: Sequence[Any]) -> None:
        self.source = source
        self.values, self.kept = passed(source, is_reachable=True)

    def is_of(self, source: Sequence[Any]) -> bool:
        """Say whether the copies are those of these values still."""
        owns = self.kept[1::2]
        arrays = [item for item in source if type(item) is np.ndarray]
        is_same = source is self.source and len(source) == len(self.values) and len(arrays) == len(owns)
        return is_same and all(item is own[2] for item, own in zip(arrays, owns)) and are_untouched(owns)


class Handed:
    """The copies that one set of inputs and attributes is handed out as, call after call.

    What they hold may change for the arrays that the checker moves (``alias``); else they serve no longer then.

    Args:
        arrays: the inputs.
        attrs: the attributes.
        last: what was handed out before; copies of arrays that are the same still are handed out again.

    Attributes:
        kept: what ``are_untouched`` looks at.
        has_more: whether there are lists or attributes to be looked at besides.
        moving: the loans of those of the inputs that the checker may fill again; None before it is asked for.
    """

    __slots__ = (
        "_has_plain_attrs",
        "attrs",
        "has_more",
        "inputs",
        "kept",
        "lists",
        "loans",
        "moving",
        "source",
        "source_attrs",
    )

    def __init__(self, arrays: Arrays, attrs: Attrs, last: Handed | None = None) -> None:
        self.source, self.source_attrs = arrays, attrs
        self._has_plain_attrs: bool
        self.lists: list[tuple[str, list[Any]]] = []
        self.loans: dict[str, Kept] = {}
        self.inputs: dict[str, Any] = {}
        if not self._take(arrays, _NOTHING if last is None else last.loans):
            self._take_all(arrays)
        self.kept = list(self.loans.values())
        self.moving: list[Kept] | None = None
        self.has_more = bool(attrs or self.lists)
        if last is not None and last.source_attrs is attrs:
            self.attrs: dict[str, Any] = last.attrs
            self._has_plain_attrs = last._has_plain_attrs
        else:
            self._has_plain_attrs = not attrs or all(type(value) in PLAIN for value in attrs.values())
            self.attrs = dict(attrs) if self._has_plain_attrs else _options_copied(attrs)

    def _take(self, arrays: Arrays, known: Mapping[str, Kept]) -> bool:
        """Copy arrays one by one; False where they are in lists or share memory."""
        loans, inputs, memories = self.loans, self.inputs, set()
        for name, value in arrays.items():
            if type(value) is _ndarray:
                loan = known.get(name)
                if loan is None or loan[5] is not value or not _is_current(loan):
                    loan = kept(copied_alone(value), value)
                loans[name], inputs[name] = loan, loan[2]
                base = value.base
                memories.add(id(value if base is None else base))
            elif value is None:
                inputs[name] = None
            else:
                return False
        return len(memories) == len(loans)

    def _take_all(self, arrays: Arrays) -> None:
        """Copy all arrays, those in lists too, and what they share."""
        leaves = [(leaf, item) for leaf, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        copies = copied([array for _, array in leaves])
        self.loans = {str(leaf): kept(copy, array) for (leaf, array), copy in zip(leaves, copies)}
        rest = iter(copies)
        for name, value in arrays.items():
            if isinstance(value, (list, tuple)):
                items = [next(rest) if isinstance(item, np.ndarray) else item for item in value]
                self.inputs[name] = items
                self.lists.append((name, list(items)))
            else:
                self.inputs[name] = next(rest) if isinstance(value, np.ndarray) else value

    def serves(self, attrs: Attrs) -> bool:
        """Say whether this is what the inputs, which hold what they held, and these attributes are handed out as."""
        if attrs is not self.source_attrs:
            return False
        if self.moving is None:
            self.moving = [loan for loan in self.kept if loan[5] is None or not _is_fixed(loan[5])]
            return all(map(_is_current, self.kept))
        return all(map(_is_current, self.moving))

    def is_untouched(self) -> bool:
        """Say whether all still holds what was handed out."""
        return are_untouched(self.kept) and (not self.has_more or self.has_the_rest())

    def has_the_rest(self) -> bool:
        """Say whether lists and attributes are what was handed out."""
        return (not self.lists or self._has_lists()) and (not self.source_attrs or self._has_attrs())

    def alias(self, leaf: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the elements (n,) of an array, its copy, and those of the copy, through which the checker writes."""
        _, _, copy, _, _, own = self.loans[leaf]
        copy.setflags(True)  # type: ignore[call-arg]  # as a keyword it takes twice as long, by flags ten times
        flat = copy.reshape(-1)
        copy.setflags(False)  # type: ignore[call-arg]
        return np.asarray(own).reshape(-1), copy, flat

    def expect(self, leaf: str, array: np.ndarray) -> None:
        """Hold an array's copy to what another array holds now: the checker has written it there."""
        _, _, copy, shape, dtype, own = self.loans[leaf]
        read, content, *_ = kept(copy, array)
        self.loans[leaf] = read, content, copy, shape, dtype, own
        self.kept = list(self.loans.values())
        self.moving = None

    def keep_again(self) -> None:
        """Take what the copies hold now as what was handed out: what was written so far is noted already."""
        for leaf, loan in list(self.loans.items()):
            self.expect(leaf, loan[2])

    def _has_attrs(self) -> bool:
        """Say whether the attributes are what was handed out."""
        source, attrs = self.source_attrs, self.attrs
        if self._has_plain_attrs and len(source) == len(attrs) and all(map(_is, attrs.values(), source.values())):
            return list(attrs) == list(source)
        return len(source) == len(attrs) and all(
            name in attrs and is_same_option(value, attrs[name]) for name, value in source.items()
        )

    def _has_lists(self) -> bool:
        """Say whether the lists hold the copies that were handed out in them."""
        return all(_is_same_list(items, self.inputs[name]) for name, items in self.lists)

    def changes(self) -> Iterator[str]:
        """Yield the names of what no longer holds what was handed out."""
        for leaf, loan in self.loans.items():
            if not are_untouched([loan]):
                yield f"argument {leaf}"
        for name, items in self.lists:
            if not _is_same_list(items, self.inputs[name]):
                yield f"list argument {name}"
        for name in {**self.source_attrs, **self.attrs}:
            value = self.source_attrs.get(name, _MISSING)
            if not is_same_option(value, self.attrs.get(name, _MISSING)):
                yield f"option {name}"

    def case(self) -> Case:
        """Return the call's inputs as a case of its own."""
        mine = Handed(self.source, self.source_attrs)
        return Case(mine.inputs, mine.attrs, "normal", origin="called")


def _options_copied(attrs: Attrs) -> dict[str, Any]:
    return {name: option_copied(value) for name, value in attrs.items()}


def _is_same_list(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(_is, one, other))
