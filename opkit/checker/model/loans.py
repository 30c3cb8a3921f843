"""Loans: arrays, lists and options as one call gets them, copied, and the bits that they were handed out with.

What a change means, and who is to blame, is custody's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import is_ as _is
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs
from opkit.checker.model.copies import LARGE, are_apart, copied, copied_alone, holds, is_same_option, option_copied
from opkit.checker.model.evaluate import leaves_of

__all__ = ["Handed", "Lent", "Loan", "Passed", "Results"]

_MISSING = object()
_MISSED = repeat(_MISSING)


class Loan:
    """One array, and the copy of it that a function gets.

    Attributes:
        own: the checker's array, or a result that a kernel may have kept.
        copy: read-only; in memory as its original.
        content: the bits of both when the copy was made; out of any kernel's reach.
    """

    __slots__ = ("content", "copy", "dtype", "own", "shape")

    def __init__(self, own: np.ndarray, copy: np.ndarray | None = None) -> None:
        self.own = own
        self.copy = copied_alone(own) if copy is None else copy
        self.content, self.shape, self.dtype = own.tobytes(), own.shape, own.dtype

    def is_of(self, array: Any) -> bool:
        """Say whether the copy is of this array as it is now; whoever made the array may have written to it."""
        own = self.own
        if array is not own:
            return False
        return own.tobytes() == self.content if own.nbytes < LARGE else holds(own, self.content)

    def is_untouched(self) -> bool:
        """Say whether the copy holds what it was handed out with."""
        copy = self.copy
        same = copy.tobytes() == self.content if copy.nbytes < LARGE else holds(copy, self.content)
        return same and copy.shape == self.shape and copy.dtype is self.dtype

    def refill(self, content: bytes) -> bool:
        """Put what the array holds now, these bits, into the copy; False where the array is of another form now."""
        own, copy = self.own, self.copy
        if own.shape != self.shape or own.dtype is not self.dtype:
            return False
        copy.setflags(True)  # type: ignore[call-arg]  # as keywords they take twice as long
        copy[...] = own
        copy.setflags(False)  # type: ignore[call-arg]
        self.content = content
        return True

    def keep_again(self) -> None:
        """Take what the copy holds now as what it was handed out with."""
        self.content = self.copy.tobytes()


class Lent:
    """Values of a list, and what a function gets of them: copies of arrays; what is not an array is passed on."""

    __slots__ = ("count", "kept", "source", "values")

    def __init__(self, source: Sequence[Any]) -> None:
        self.source, self.count = source, len(source)
        self.kept: list[tuple[int, np.ndarray, np.ndarray, bytes, tuple[int, ...]]] = []
        self.values = values = list(source)
        for place, item in enumerate(source):
            if type(item) is np.ndarray:
                values[place] = copy = copied_alone(item)
                self.kept.append((place, item, copy, item.tobytes(), item.shape))

    def is_of(self, source: Sequence[Any]) -> bool:
        """Say whether the copies are those of these values still."""
        if source is not self.source or len(source) != self.count:
            return False
        for place, own, _, content, _ in self.kept:  # noqa: SIM110 (a generator would take as long as the comparisons)
            if source[place] is not own or not holds(own, content):
                return False
        return True

    def is_untouched(self) -> bool:
        """Say whether the copies, and what they were made of, hold what was handed out."""
        for _, own, copy, content, shape in self.kept:
            if not holds(copy, content) or not holds(own, content):
                return False
            if copy.shape != shape or copy.dtype is not own.dtype:
                return False
        return True

    def changes(self, what: str) -> Iterator[str]:
        """Yield the names of what was written to."""
        for place, own, copy, content, shape in self.kept:
            is_kept = holds(copy, content) and holds(own, content)
            if not is_kept or copy.shape != shape or copy.dtype is not own.dtype:
                yield what if self.count == 1 else f"{what} {place}"


class Results:
    """What forward returned, and the bits that it held then; backward reaches it by way of what forward saved."""

    __slots__ = ("count", "kept")

    def __init__(self, source: Sequence[Any]) -> None:
        self.count = len(source)
        self.kept = [
            (place, item, item.tobytes(), item.shape) for place, item in enumerate(source) if type(item) is np.ndarray
        ]

    def is_untouched(self) -> bool:
        """Say whether all still hold what they held."""
        for _, item, content, shape in self.kept:  # noqa: SIM110
            if not holds(item, content) or item.shape != shape:
                return False
        return True

    def changes(self, what: str) -> Iterator[str]:
        """Yield the names of what was written to."""
        for place, item, content, shape in self.kept:
            if not holds(item, content) or item.shape != shape:
                yield what if self.count == 1 else f"{what} {place}"


class Passed:
    """Arrays that the checker alone holds, and the copies that a function gets of them in one call."""

    __slots__ = ("pairs", "values")

    def __init__(self, source: Sequence[Any]) -> None:
        self.pairs: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.values = values = list(source)
        for place, item in enumerate(source):
            if type(item) is np.ndarray:
                values[place] = copy = copied_alone(item)
                self.pairs.append((place, item, copy))

    def is_untouched(self) -> bool:
        """Say whether the copies hold what was handed out."""
        for _, own, copy in self.pairs:  # noqa: SIM110
            if not _is_alike(own, copy):
                return False
        return True

    def changes(self, what: str) -> Iterator[str]:
        """Yield the names of what was written to."""
        for place, own, copy in self.pairs:
            if not _is_alike(own, copy):
                yield what if len(self.values) == 1 else f"{what} {place}"


def _is_alike(own: np.ndarray, copy: np.ndarray) -> bool:
    same = copy.tobytes() == own.tobytes() if own.nbytes < LARGE else holds(copy, own.tobytes())
    return same and copy.shape == own.shape and copy.dtype is own.dtype


class Handed:
    """The copies that one set of inputs and attributes was handed out as.

    Args:
        arrays: the inputs.
        attrs: the attributes.
        last: what was handed out before; copies of arrays that are the same still are handed out again.
    """

    __slots__ = ("attrs", "inputs", "lists", "loans", "source", "source_attrs")

    def __init__(self, arrays: Arrays, attrs: Attrs, last: Handed | None = None) -> None:
        self.source, self.source_attrs = arrays, attrs
        self.inputs: dict[str, Any] = {}
        self.lists: list[tuple[str, list[Any]]] = []
        self.loans: dict[str, Loan] = {}
        if not self._take(arrays, {} if last is None else last.loans):
            self._take_all(arrays)
        if last is not None and last.source_attrs is attrs and last.has_attrs():
            self.attrs: dict[str, Any] = last.attrs
        else:
            self.attrs = {name: option_copied(value) for name, value in attrs.items()}

    def _take(self, arrays: Arrays, known: Mapping[str, Loan]) -> bool:
        """Copy arrays one by one; False where they are in lists or share memory."""
        loans, inputs = self.loans, self.inputs
        for name, value in arrays.items():
            if type(value) is not np.ndarray:
                if value is not None:
                    return False
                inputs[name] = None
                continue
            loan = known.get(name)
            if loan is None or not loan.is_of(value):
                loan = Loan(value)
            loans[name] = loan
            inputs[name] = loan.copy
        return len(loans) < 2 or are_apart([loan.own for loan in loans.values()])

    def _take_all(self, arrays: Arrays) -> None:
        """Copy all arrays, those in lists too, and what they share."""
        leaves = [(leaf, item) for leaf, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        copies = copied([array for _, array in leaves])
        self.loans = {str(leaf): Loan(array, copy) for (leaf, array), copy in zip(leaves, copies)}
        rest = iter(copies)
        for name, value in arrays.items():
            if isinstance(value, (list, tuple)):
                items = [next(rest) if isinstance(item, np.ndarray) else item for item in value]
                self.inputs[name] = items
                self.lists.append((name, list(items)))
            else:
                self.inputs[name] = next(rest) if isinstance(value, np.ndarray) else value

    def serves(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether this can be handed out for these inputs: the very arrays, which may hold something new."""
        if arrays is not self.source or attrs is not self.source_attrs or len(arrays) != len(self.inputs):
            return False
        if self.lists:
            return self._serves_lists(arrays) and self.has_attrs()
        for name, loan in self.loans.items():
            own = loan.own
            if arrays[name] is not own:
                return False
            if own.nbytes >= LARGE and holds(own, loan.content):
                continue
            content = own.tobytes()
            if content != loan.content and not loan.refill(content):
                return False
        return not attrs or self.has_attrs()

    def holds(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether this is what these inputs are handed out as, without a change."""
        if arrays is not self.source or attrs is not self.source_attrs or len(arrays) != len(self.inputs):
            return False
        if self.lists:
            return self._serves_lists(arrays) and self.has_lists() and self.has_attrs()
        for name, loan in self.loans.items():
            if not loan.is_of(arrays[name]) or not loan.is_untouched():
                return False
        return not attrs or self.has_attrs()

    def _serves_lists(self, arrays: Arrays) -> bool:
        now = [item for _, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        return len(now) == len(self.loans) and all(loan.is_of(item) for loan, item in zip(self.loans.values(), now))

    def is_untouched(self) -> bool:
        """Say whether all still holds what was handed out."""
        for loan in self.loans.values():
            copy = loan.copy
            same = copy.tobytes() == loan.content if copy.nbytes < LARGE else holds(copy, loan.content)
            if not same or copy.shape != loan.shape or copy.dtype is not loan.dtype:
                return False
        return (not self.lists or self.has_lists()) and (not self.source_attrs or self.has_attrs())

    def alias(self, leaf: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the copy of an array, and its elements (n,) through which the checker writes to it."""
        copy = self.loans[leaf].copy
        copy.setflags(True)  # type: ignore[call-arg]
        flat = copy.reshape(-1)
        copy.setflags(False)  # type: ignore[call-arg]
        return copy, flat

    def keep_again(self) -> None:
        """Take what the copies hold now as what was handed out: what was written so far is noted already."""
        for loan in self.loans.values():
            loan.keep_again()

    def has_attrs(self) -> bool:
        """Say whether the attributes are what was handed out."""
        source, attrs = self.source_attrs, self.attrs
        if len(source) != len(attrs):
            return False
        if all(map(_is, map(attrs.get, source, _MISSED), source.values())):
            return True
        return all(name in attrs and is_same_option(value, attrs[name]) for name, value in source.items())

    def has_lists(self) -> bool:
        """Say whether the lists hold the copies that were handed out in them."""
        return all(_is_same_list(items, self.inputs[name]) for name, items in self.lists)

    def changes(self) -> Iterator[str]:
        """Yield the names of what no longer holds what was handed out."""
        for leaf, loan in self.loans.items():
            if not loan.is_untouched():
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


def _is_same_list(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(_is, one, other))
