"""Custody: what a user's function gets are copies, and each is looked at again when the function has returned.

The checker's own arrays are out of reach of any flag, ``base`` or address that a kernel holds. What is found written is
noted here; the checks report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.copies import NestingError, option_copied
from opkit.checker.model.interpreter import Interpreter
from opkit.checker.model.loans import Handed, Kept, Lent, are_untouched, changes, left, passed
from opkit.checker.model.pairs import LAST_NUMBER, Pairs
from opkit.checker.model.raised import readable
from opkit.checker.model.thresholds import MOST_HANDED, MOST_NAMED
from opkit.errors import KernelError

#: Kinds of dtypes: bytes, texts, dates and spans of time.
_NO_NUMBERS = frozenset("SUMm")
_SURROGATE = "the SURROGATE"
_FIELDS = tuple(item.name for item in fields(Checkable))
_values_of = attrgetter(*_FIELDS)


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


class Moving:
    """Many calls of one function, between which the checker changes some arrays; for the inner loops of derivatives.

    What the function did to these arrays is looked at after each call, all else when ``settle`` is called.

    Args:
        custody: what is found written is noted there.
        function: the op's own; its errors come as they are.
        who: what it is called.
        arrays: the inputs.
        attrs: the attributes.
        leaves: name the arrays; C-contiguous.
    """

    def __init__(
        self,
        custody: Custody,
        function: Callable[..., Any],
        who: str,
        arrays: Arrays,
        attrs: Attrs,
        leaves: Sequence[str],
    ) -> None:
        self._custody, self._function, self._who = custody, function, who
        self._arrays, self._attrs, self._leaves = arrays, attrs, leaves
        self._begin()

    def _begin(self) -> None:
        self._handed = handed = Handed(self._arrays, self._attrs, self._custody.last)
        self._moved = [(leaf, *handed.alias(leaf)) for leaf in self._leaves]

    def __call__(self) -> Sequence[Any]:
        """Call the function on what the arrays hold now."""
        handed, moved = self._handed, self._moved
        for _, own, _, flat in moved:
            flat[...] = own
        try:
            outputs: Sequence[Any] = self._function(handed.inputs, handed.attrs)
        finally:
            for leaf, own, copy, _ in moved:
                if copy.tobytes() != own.tobytes():
                    handed.expect(leaf, own)
                    self._look()
        return outputs

    def settle(self) -> None:
        """Compare all that the function got."""
        for leaf, _, copy, _ in self._moved:
            self._handed.expect(leaf, copy)  # which was looked at after the last call
        self._look()

    def _look(self) -> None:
        if not self._handed.is_untouched():
            self._custody.note(self._handed, "GC122", self._who, self._handed.changes())
            self._begin()


class Custody:
    """Stands between the checker and one op's functions.

    Args:
        is_watchful: the interpreter is looked at, and put back, after each call: it is known to be changed.

    Attributes:
        interpreter: as it was before the first call.
        breaches: the writes found, the first of each kind, in the order of the calls.
        last: the copies that were made last.
        has_run: something of the op's has, since the results lent were looked at.
    """

    def __init__(self, is_watchful: bool = False) -> None:
        self.breaches: list[Breach] = []
        self.interpreter = Interpreter()
        self._is_watchful = is_watchful
        self._told: set[str] = set()
        self.last: Handed | None = None
        self._known: dict[int, Handed] = {}
        self._held: dict[int, Handed] = {}  # by pullbacks: they get no new content
        self._results: Lent | None = None
        self.has_run = False

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions given copies."""
        changes: dict[str, Any] = {
            "forward": self._forward(checkable.forward),
            "recorded": tuple(replace(case, **_kept(case)) for case in checkable.recorded),
        }
        if checkable.surrogate is not None:
            changes["surrogate"] = self._forward(checkable.surrogate, _SURROGATE)
        if not self._is_watchful:  # which looks at more after each call
            who = "forward" if checkable.surrogate is None else _SURROGATE
            changes["moving"] = partial(Moving, self, checkable.surrogate or checkable.forward, who)
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
        if checkable.has_gradient and not self._is_watchful:
            changes["paired"] = Pairs(self, checkable, lambda *given: guarded.run(*given), _arrays_of_numbers)
        guarded = _changed(checkable, changes)
        return guarded

    # --- handing out
    def hand(self, arrays: Arrays, attrs: Attrs) -> Handed:
        """Return the copies that inputs are handed out as, the same again while these hold what they held."""
        found = self._known.get(id(arrays))
        if found is not None and found.source_attrs is attrs and (found.moving == [] or found.serves(attrs)):
            return found
        self.last = made = Handed(arrays, attrs, self.last)
        return _entered(self._known, arrays, made)

    def _hold(self, arrays: Arrays, attrs: Attrs) -> Handed:
        """Return copies that keep their content for as long as a pullback holds them."""
        found = self._held.get(id(arrays))
        if found is not None and found.serves(attrs):
            return found
        return _entered(self._held, arrays, Handed(arrays, attrs))

    def _lend(self, results: Sequence[Any]) -> Lent:
        """Return forward's results as backward gets them, the same again for each call after one forward."""
        last = self._results
        if last is None or last.source is not results or (self.has_run and not last.is_of(results)):
            self._results = last = Lent(results)
        return last

    def note(self, handed: Handed, code: str, who: str, changed: Iterable[str]) -> None:
        """Note what a function wrote to."""
        for what in changed:
            self.forget()
            self._tell(handed, code, f"{who} wrote to its {what}")

    def forget(self) -> None:
        """Hand out nothing any more that was handed out before: it was written to."""
        self._known.clear()
        self._held.clear()
        self.last = self._results = None

    def _tell(self, handed: Handed, code: str, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.breaches.append(Breach(code, message, handed.case()))

    def _look_after(self, handed: Handed, code: str, who: str) -> None:
        """Compare what a function got; put back what it changed of the interpreter."""
        if not handed.is_untouched():
            self.note(handed, code, who, handed.changes())
        if self._is_watchful:
            self._put_back(handed, who)

    def _put_back(self, handed: Handed, who: str) -> None:
        changed = self.interpreter.put_back()
        if changed:
            self._tell(handed, "GC198", f"{who} changed {', '.join(changed[:MOST_NAMED])}")

    # --- the op's functions
    def _forward(self, function: Callable[..., Any], who: str = "forward") -> Callable[..., Any]:
        is_watchful = self._is_watchful

        def forward(arrays: Arrays, attrs: Attrs) -> Any:
            handed = self.hand(arrays, attrs)
            self.has_run = True
            try:
                outputs = function(handed.inputs, handed.attrs)
                for item in outputs:
                    if type(item) is np.ndarray and item.dtype.num > LAST_NUMBER:
                        _arrays_of_numbers(outputs)
            except Exception as error:
                raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
            finally:
                if is_watchful or not are_untouched(handed.kept) or (handed.has_more and not handed.has_the_rest()):
                    self._look_after(handed, "GC122", who)
            return outputs

        return forward

    def _backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def backward(
            arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
        ) -> Any:
            handed = self.hand(arrays, attrs)
            results = self._lend(outputs)
            values, incoming = passed(douts)
            try:
                return function(handed.inputs, results.values, values, handed.attrs, needs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look(handed, results.values, results.kept, values, incoming)
                self.has_run = False

        return backward

    def _look(
        self,
        handed: Handed,
        results: Sequence[Any],
        results_kept: Sequence[Kept],
        douts: Sequence[Any],
        douts_kept: Sequence[Kept],
    ) -> None:
        """Compare all that backward got."""
        if (
            are_untouched([*handed.kept, *results_kept, *douts_kept])
            and not self._is_watchful
            and (not handed.has_more or handed.has_the_rest())
        ):
            return
        self._look_after(handed, "GC123", "backward")
        self.note(handed, "GC123", "backward", changes(results_kept, results, "argument, forward's result"))
        self.note(handed, "GC123", "backward", changes(douts_kept, douts, "incoming gradient"))

    def _runner(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(arrays: Arrays, attrs: Attrs, douts: Sequence[Any]) -> Any:
            handed = self.hand(arrays, attrs)
            self.has_run = True
            try:
                return function(handed.inputs, handed.attrs, passed(douts)[0])
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look_after(handed, "GC122", "the op")

        return run

    def _vjp(self, function: Callable[..., tuple[Sequence[Any], Pullback]]) -> Callable[..., Any]:
        def vjp(arrays: Arrays, attrs: Attrs) -> tuple[Sequence[Any], Pullback]:
            handed = self._hold(arrays, attrs)
            self.has_run = True
            try:
                outputs, pullback = function(handed.inputs, handed.attrs)
                _arrays_of_numbers(outputs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                if self._is_watchful or not handed.is_untouched():
                    self._look_after(handed, "GC122", "forward")
                    handed.keep_again()
            results = left(outputs)

            def pull(douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
                values, incoming = passed(douts)
                self.has_run = True
                try:
                    return pullback(values, needs)
                except Exception as error:
                    raise readable(error)  # noqa: B904
                finally:
                    self._look(handed, outputs, results, values, incoming)

            return outputs, pull

        return vjp


def _changed(checkable: Checkable, changes: Mapping[str, Any]) -> Checkable:
    """Do what ``dataclasses.replace`` does, in a third of its time."""
    return Checkable(**{**dict(zip(_FIELDS, _values_of(checkable))), **changes})


def _entered(table: dict[int, Handed], arrays: Arrays, made: Handed) -> Handed:
    if len(table) >= MOST_HANDED:
        del table[next(iter(table))]  # the oldest
    table[id(arrays)] = made  # which refers to the arrays, so that no other inputs get their id
    return made


def _arrays_of_numbers(outputs: Any) -> None:
    """Look at the dtypes of forward's results.

    Raises:
        KernelError: one is an array of records, texts or dates, on which no check can compute.
    """
    for place, item in enumerate(outputs):
        if type(item) is np.ndarray and (item.dtype.kind in _NO_NUMBERS or item.dtype.names is not None):
            raise KernelError(f"forward returned an array of {item.dtype} as result {place}, expected numbers")


def _kept(case: Case) -> dict[str, Any]:
    try:
        mine = Handed(case.inputs, case.attrs)
    except RecursionError:
        raise NestingError(case.label or "a case") from None
    return {"inputs": mine.inputs, "attrs": mine.attrs}


def _cases(cases: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    """Copy each case as it is drawn: a cases function may fill one array again and again."""

    def drawn(rng: np.random.Generator) -> Iterator[Any]:
        for number, case in enumerate(cases(rng)):
            try:
                yield _case_copied(case)
            except RecursionError:
                raise NestingError(f"case {number}") from None

    return drawn


def _case_copied(case: Any) -> Any:
    if isinstance(case, Mapping):
        return {key: option_copied(value) for key, value in case.items()}
    return option_copied(case)
