"""Custody: what a user's function gets are copies, and each is looked at again when the function has returned.

The checker's own arrays are out of reach of any flag, ``base`` or address that a kernel holds. What is found written is
noted here; the checks report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.copies import copied, is_same_array, is_same_option, option_copied
from opkit.checker.model.evaluate import leaves_of

__all__ = ["Breach", "Custody"]


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """A write that a call left behind.

    Args:
        code: GC122 where forward wrote, GC123 where backward did.
        message: which call wrote to what.
        case: the inputs of that call.
    """

    code: str
    message: str
    case: Case


class _Handed:
    """The copies that one set of inputs and attributes was handed out as."""

    def __init__(self, arrays: Arrays, attrs: Attrs) -> None:
        self.source, self.source_attrs = arrays, attrs
        self.own = [(leaf, item) for leaf, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        self.copies = copied([array for _, array in self.own])
        self.inputs = self._inputs(arrays)
        self.attrs: dict[str, Any] = {name: option_copied(value) for name, value in attrs.items()}
        self.lists = [(name, list(value)) for name, value in self.inputs.items() if type(value) is list]

    def _inputs(self, arrays: Arrays) -> dict[str, Any]:
        rest = iter(self.copies)
        inputs: dict[str, Any] = {}
        for name, value in arrays.items():
            if isinstance(value, (list, tuple)):
                inputs[name] = [next(rest) if isinstance(item, np.ndarray) else item for item in value]
            else:
                inputs[name] = next(rest) if isinstance(value, np.ndarray) else value
        return inputs

    def is_of(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether the copies are still those of these inputs, which the checker may have changed in place."""
        if arrays is not self.source or attrs is not self.source_attrs:
            return False
        now = [item for _, item in leaves_of(arrays) if isinstance(item, np.ndarray)]
        return len(now) == len(self.own) and all(
            array is own and is_same_array(array, copy) for array, (_, own), copy in zip(now, self.own, self.copies)
        )

    def changes(self, kept: Sequence[bytes] | None = None) -> Iterator[str]:
        """Yield the names of what no longer holds what was handed out (or what was kept of it)."""
        for number, ((leaf, own), copy) in enumerate(zip(self.own, self.copies)):
            if not (is_same_array(own, copy) if kept is None else copy.tobytes() == kept[number]):
                yield f"argument {leaf}"
        for name, items in self.lists:
            if len(items) != len(self.inputs[name]) or any(a is not b for a, b in zip(items, self.inputs[name])):
                yield f"list argument {name}"
        if self.attrs:
            for name, value in self.source_attrs.items():
                if name not in self.attrs or not is_same_option(value, self.attrs[name]):
                    yield f"option {name}"

    def case(self) -> Case:
        """Return the call's inputs as a case of its own."""
        mine = _Handed(self.source, self.source_attrs)
        return Case(mine.inputs, mine.attrs, "normal", origin="called")


class Custody:
    """Stands between the checker and one op's functions.

    Attributes:
        breaches: the writes found, the first of each kind, in the order of the calls.
    """

    def __init__(self) -> None:
        self.breaches: list[Breach] = []
        self._told: set[str] = set()
        self._last: _Handed | None = None

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
        if last is None or not last.is_of(arrays, attrs):
            self._last = last = _Handed(arrays, attrs)
        return last

    def _note(self, handed: _Handed, code: str, who: str, changed: Iterable[str]) -> None:
        for what in changed:
            self._last = None  # what was written to is no longer handed out
            message = f"{who} wrote to its {what}"
            if message not in self._told:
                self._told.add(message)
                self.breaches.append(Breach(code, message, handed.case()))

    # --- the op's functions
    def _forward(self, function: Callable[..., Any], who: str = "forward") -> Callable[..., Any]:
        def forward(arrays: Arrays, attrs: Attrs) -> Any:
            handed = self._hand(arrays, attrs)
            try:
                return function(handed.inputs, handed.attrs)
            finally:
                self._note(handed, "GC122", who, handed.changes())

        return forward

    def _backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def backward(
            arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
        ) -> Any:
            handed = self._hand(arrays, attrs)
            results, incoming = _each(outputs), _each(douts)
            try:
                return function(handed.inputs, results, incoming, handed.attrs, needs)
            finally:
                self._note(handed, "GC123", "backward", handed.changes())
                self._note(handed, "GC123", "backward", _differing("argument, forward's result", outputs, results))
                self._note(handed, "GC123", "backward", _differing("incoming gradient", douts, incoming))

        return backward

    def _runner(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(arrays: Arrays, attrs: Attrs, douts: Sequence[Any]) -> Any:
            handed = self._hand(arrays, attrs)
            try:
                return function(handed.inputs, handed.attrs, _each(douts))
            finally:
                self._note(handed, "GC122", "the op", handed.changes())

        return run

    def _vjp(self, function: Callable[..., tuple[Sequence[Any], Pullback]]) -> Callable[..., Any]:
        def vjp(arrays: Arrays, attrs: Attrs) -> tuple[Sequence[Any], Pullback]:
            handed = self._hand(arrays, attrs)
            kept = [copy.tobytes() for copy in handed.copies]
            try:
                outputs, pullback = function(handed.inputs, handed.attrs)
            finally:
                self._note(handed, "GC122", "forward", handed.changes(kept))
            kept = [copy.tobytes() for copy in handed.copies]
            results = _each(outputs)

            def pull(douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
                incoming = _each(douts)
                try:
                    return pullback(incoming, needs)
                finally:
                    self._note(handed, "GC123", "backward", handed.changes(kept))
                    self._note(handed, "GC123", "backward", _differing("argument, forward's result", outputs, results))
                    self._note(handed, "GC123", "backward", _differing("incoming gradient", douts, incoming))

            return outputs, pull

        return vjp


def _each(values: Sequence[Any]) -> list[Any]:
    """Return copies of arrays; what is not an array is passed on."""
    return [copied([item])[0] if type(item) is np.ndarray else item for item in values]


def _differing(what: str, own: Sequence[Any], copies: Sequence[Any]) -> Iterator[str]:
    for number, (one, copy) in enumerate(zip(own, copies)):
        if type(one) is np.ndarray and not is_same_array(one, copy):
            yield what if len(own) == 1 else f"{what} {number}"


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
