"""Custody: what a user's function gets are copies, and each is looked at again when the function has returned.

The checker's own arrays are out of reach of any flag, ``base`` or address that a kernel holds. What is found written is
noted here; the checks report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_ as _is
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.copies import LARGE, are_apart, copied, copied_alone, holds, is_same_option, option_copied
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.interpreter import Interpreter
from opkit.checker.model.raised import readable
from opkit.errors import KernelError

__all__ = ["Breach", "Custody"]


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """A write that a call left behind.

    Args:
        code: GC122 where forward wrote, GC123 where backward did, GC198 where the interpreter was changed.
        message: which call wrote to what.
        case: the inputs of that call.
    """

    code: str
    message: str
    case: Case


class _Loan:
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
        copy.setflags(write=True)
        copy[...] = own
        copy.setflags(write=False)
        self.content = content
        return True

    def keep_again(self) -> None:
        """Take what the copy holds now as what it was handed out with."""
        self.content = self.copy.tobytes()


class _Lent:
    """Values of a list, and what a function gets of them: copies of arrays; what is not an array is passed on."""

    __slots__ = ("count", "loans", "source", "values")

    def __init__(self, source: Sequence[Any]) -> None:
        self.source, self.count = source, len(source)
        self.loans: list[tuple[int, _Loan]] = []
        self.values: list[Any] = []
        for place, item in enumerate(source):
            if type(item) is np.ndarray:
                loan = _Loan(item)
                self.loans.append((place, loan))
                self.values.append(loan.copy)
            else:
                self.values.append(item)

    def is_of(self, source: Sequence[Any]) -> bool:
        """Say whether the copies are those of these values still."""
        if source is not self.source or len(source) != self.count:
            return False
        for place, loan in self.loans:  # noqa: SIM110 (a generator would take as long as the comparisons)
            if not loan.is_of(source[place]):
                return False
        return True

    def is_untouched(self) -> bool:
        """Say whether the copies, and what they were made of, hold what was handed out."""
        for _, loan in self.loans:  # noqa: SIM110
            if not loan.is_untouched() or not loan.is_of(loan.own):
                return False
        return True

    def changes(self, what: str) -> Iterator[str]:
        """Yield the names of what was written to."""
        for place, loan in self.loans:
            if not loan.is_untouched() or not loan.is_of(loan.own):
                yield what if self.count == 1 else f"{what} {place}"


class _Handed:
    """The copies that one set of inputs and attributes was handed out as.

    Args:
        arrays: the inputs.
        attrs: the attributes.
        last: what was handed out before; copies of arrays that are the same still are handed out again.
    """

    __slots__ = ("attrs", "inputs", "lists", "loans", "source", "source_attrs")

    def __init__(self, arrays: Arrays, attrs: Attrs, last: _Handed | None = None) -> None:
        self.source, self.source_attrs = arrays, attrs
        self.inputs: dict[str, Any] = {}
        self.lists: list[tuple[str, list[Any]]] = []
        self.loans: dict[str, _Loan] = {}
        if not self._take(arrays, {} if last is None else last.loans):
            self._take_all(arrays)
        if last is not None and last.source_attrs is attrs and last.has_attrs():
            self.attrs: dict[str, Any] = last.attrs
        else:
            self.attrs = {name: option_copied(value) for name, value in attrs.items()}

    def _take(self, arrays: Arrays, known: Mapping[str, _Loan]) -> bool:
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
                loan = _Loan(value)
            loans[name] = loan
            inputs[name] = loan.copy
        return len(loans) < 2 or are_apart([loan.own for loan in loans.values()])

    def _take_all(self, arrays: Arrays) -> None:
        """Copy all arrays, those in lists too, and what they share."""
        leaves = [(leaf, item) for leaf, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        copies = copied([array for _, array in leaves])
        self.loans = {str(leaf): _Loan(array, copy) for (leaf, array), copy in zip(leaves, copies)}
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

    def keep_again(self) -> None:
        """Take what the copies hold now as what was handed out: what was written so far is noted already."""
        for loan in self.loans.values():
            loan.keep_again()

    def has_attrs(self) -> bool:
        """Say whether the attributes are what was handed out."""
        source, attrs = self.source_attrs, self.attrs
        if len(source) != len(attrs):
            return False
        for name, value in source.items():
            if name not in attrs or (attrs[name] is not value and not is_same_option(value, attrs[name])):
                return False
        return True

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
        mine = _Handed(self.source, self.source_attrs)
        return Case(mine.inputs, mine.attrs, "normal", origin="called")


def _is_same_list(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(_is, one, other))


_MISSING = object()
#: How many changes of the interpreter a message names.
_NAMED = 5
#: Kinds of dtypes: bytes, texts, dates and spans of time.
_NO_NUMBERS = frozenset("SUMm")


class Custody:
    """Stands between the checker and one op's functions.

    Args:
        is_watchful: the interpreter is looked at, and put back, after each call: it is known to be changed.

    Attributes:
        interpreter: as it was before the first call.
        breaches: the writes found, the first of each kind, in the order of the calls.
    """

    def __init__(self, is_watchful: bool = False) -> None:
        self.breaches: list[Breach] = []
        self.interpreter = Interpreter()
        self._is_watchful = is_watchful
        self._told: set[str] = set()
        self._last: _Handed | None = None
        self._results: _Lent | None = None

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions given copies."""
        changes: dict[str, Any] = {
            "forward": self._forward(checkable.forward),
            "recorded": tuple(replace(case, **_kept(case)) for case in checkable.recorded),
        }
        if checkable.surrogate is not None:
            changes["surrogate"] = self._forward(checkable.surrogate, "the SURROGATE")
        if checkable.backward is not None:
            changes["backward"] = self._backward(checkable.backward)
        if checkable.trace is not None:
            changes["trace"] = self._backward(checkable.trace)
        if checkable.vjp is not None:
            changes["vjp"] = self._vjp(checkable.vjp)
        if checkable.cases is not None:
            changes["cases"] = _cases(checkable.cases)
        afresh = checkable.afresh
        if afresh is not None:
            changes["afresh"] = lambda: self.over(afresh())
        if checkable.own:
            changes["own"] = tuple(replace(item, run=self._runner(item.run)) for item in checkable.own)
        if checkable.runners:
            changes["runners"] = {name: self._runner(run) for name, run in checkable.runners.items()}
        return replace(checkable, **changes)

    # --- handing out
    def _hand(self, arrays: Arrays, attrs: Attrs) -> _Handed:
        last = self._last
        if last is None or not last.serves(arrays, attrs):
            self._last = last = _Handed(arrays, attrs, last)
        return last

    def _lend(self, results: Sequence[Any]) -> _Lent:
        """Return forward's results as backward gets them, the same again for each call after one forward."""
        last = self._results
        if last is None or not last.is_of(results):
            self._results = last = _Lent(results)
        return last

    def _note(self, handed: _Handed, code: str, who: str, changed: Iterable[str]) -> None:
        for what in changed:
            self._last = self._results = None  # what was written to is no longer handed out
            self._tell(handed, code, f"{who} wrote to its {what}")

    def _tell(self, handed: _Handed, code: str, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.breaches.append(Breach(code, message, handed.case()))

    def _look_after(self, handed: _Handed, code: str, who: str) -> None:
        """Compare what a function got; put back what it changed of the interpreter."""
        if not handed.is_untouched():
            self._note(handed, code, who, handed.changes())
        if self._is_watchful:
            changed = self.interpreter.put_back()
            if changed:
                self._tell(handed, "GC198", f"{who} changed {', '.join(changed[:_NAMED])}")

    # --- the op's functions
    def _forward(self, function: Callable[..., Any], who: str = "forward") -> Callable[..., Any]:
        def forward(arrays: Arrays, attrs: Attrs) -> Any:
            handed = self._hand(arrays, attrs)
            try:
                return _arrays_of_numbers(function(handed.inputs, handed.attrs))
            except Exception as error:
                raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
            finally:
                self._look_after(handed, "GC122", who)

        return forward

    def _backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def backward(
            arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
        ) -> Any:
            handed = self._hand(arrays, attrs)
            results, incoming = self._lend(outputs), _Lent(douts)
            try:
                return function(handed.inputs, results.values, incoming.values, handed.attrs, needs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look(handed, results, incoming)

        return backward

    def _look(self, handed: _Handed, results: _Lent, incoming: _Lent) -> None:
        """Compare all that backward got."""
        self._look_after(handed, "GC123", "backward")
        if not results.is_untouched():
            self._note(handed, "GC123", "backward", results.changes("argument, forward's result"))
        if not incoming.is_untouched():
            self._note(handed, "GC123", "backward", incoming.changes("incoming gradient"))

    def _runner(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(arrays: Arrays, attrs: Attrs, douts: Sequence[Any]) -> Any:
            handed = self._hand(arrays, attrs)
            try:
                return function(handed.inputs, handed.attrs, _Lent(douts).values)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look_after(handed, "GC122", "the op")

        return run

    def _vjp(self, function: Callable[..., tuple[Sequence[Any], Pullback]]) -> Callable[..., Any]:
        def vjp(arrays: Arrays, attrs: Attrs) -> tuple[Sequence[Any], Pullback]:
            handed = self._hand(arrays, attrs)
            self._last = None  # the pullback may hold these copies: they get no new content
            try:
                outputs, pullback = function(handed.inputs, handed.attrs)
                _arrays_of_numbers(outputs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look_after(handed, "GC122", "forward")
                handed.keep_again()
            results = _Lent(outputs)

            def pull(douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
                incoming = _Lent(douts)
                try:
                    return pullback(incoming.values, needs)
                except Exception as error:
                    raise readable(error)  # noqa: B904
                finally:
                    self._look(handed, results, incoming)

            return outputs, pull

        return vjp


def _arrays_of_numbers(outputs: Any) -> Any:
    """Return forward's results.

    Raises:
        KernelError: one is an array of records, texts or dates, on which no check can compute.
    """
    for place, item in enumerate(outputs):
        if type(item) is np.ndarray and (item.dtype.kind in _NO_NUMBERS or item.dtype.names is not None):
            raise KernelError(f"forward returned an array of {item.dtype} as result {place}, expected numbers")
    return outputs


def _kept(case: Case) -> dict[str, Any]:
    mine = _Handed(case.inputs, case.attrs)
    return {"inputs": mine.inputs, "attrs": mine.attrs}


def _cases(cases: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    """Copy each case as it is drawn: a cases function may fill one array again and again."""

    def drawn(rng: np.random.Generator) -> Iterator[Any]:
        for case in cases(rng):
            yield (
                {key: option_copied(value) for key, value in case.items()}
                if isinstance(case, Mapping)
                else option_copied(case)
            )

    return drawn
