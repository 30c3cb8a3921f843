"""Custody: what a user's function gets is looked at again when the function has returned, and put back.

Written arguments are found by their content, whatever way a kernel took; what is found is noted here, and the checks
report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.copies import PLAIN, NestingError, is_same_option, option_copied
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.raised import readable
from opkit.errors import KernelError

#: The last of the dtypes that numpy numbers first: booleans, integers, floats and complex numbers.
_LAST_NUMBER = np.dtype(np.clongdouble).num
#: Kinds of dtypes: bytes, texts, dates and spans of time.
_NO_NUMBERS = frozenset("SUMm")
_ndarray = np.ndarray
#: An array, and the bits, the shape and the dtype that it must keep.
_Kept: TypeAlias = tuple[np.ndarray, bytes, tuple[int, ...], np.dtype]


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


def _kept(values: Iterable[Any]) -> list[_Kept]:
    """Return arrays with what they hold now."""
    return [(item, item.tobytes(), item.shape, item.dtype) for item in values if type(item) is _ndarray]


def _written(every: list[_Kept]) -> list[_Kept]:
    """Return those of the arrays that hold something else now; most often none."""
    return [one for one in every if one[0].tobytes() != one[1] or one[0].shape != one[2] or one[0].dtype is not one[3]]


def _put_back(kept: _Kept) -> None:
    """Let an array hold again what it held."""
    array, content, shape, dtype = kept
    with suppress(AttributeError, TypeError, ValueError):  # whoever owns the memory lets nobody write to it
        was_writeable = array.flags.writeable
        if isinstance(array.base, _ndarray):
            array.base.flags.writeable = True
        array.dtype, array.flags.writeable = dtype, True  # type: ignore[misc]
        array.shape = shape
        array[...] = np.frombuffer(content, dtype).reshape(shape)
        array.flags.writeable = was_writeable


class Custody:
    """Stands between the checker and one op's functions.

    Attributes:
        breaches: the writes found, the first of each kind, in the order of the calls.
    """

    def __init__(self) -> None:
        self.breaches: list[Breach] = []
        self._told: set[str] = set()
        self._attrs: tuple[Any, bool] = None, True

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions looked after."""
        changes: dict[str, Any] = {
            "forward": self._forward(checkable.forward),
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

    # --- one call
    def _given(self, arrays: Arrays, attrs: Attrs) -> tuple[Arrays, Attrs, list[_Kept]]:
        """Return arguments as a function gets them, lists and options copied, and what must stay as it is."""
        kept: list[_Kept] = []
        copies: dict[str, Any] = {}
        for name, value in arrays.items():
            if type(value) is _ndarray:
                kept.append((value, value.tobytes(), value.shape, value.dtype))
            elif value is not None:
                copies[name] = list(value)
                kept += _kept(value)
        given = {**arrays, **copies} if copies else dict(arrays)
        return given, (attrs and self._options(attrs)), kept

    def _options(self, attrs: Attrs) -> Attrs:
        if self._attrs[0] is not attrs:
            self._attrs = attrs, all(type(value) in PLAIN for value in attrs.values())
        return dict(attrs) if self._attrs[1] else {name: option_copied(value) for name, value in attrs.items()}

    def _look(
        self, arrays: Arrays, attrs: Attrs, given: tuple[Arrays, Attrs, list[_Kept]], code: str, who: str
    ) -> None:
        """Compare what a function got with what it was."""
        inputs, options, kept = given
        touched = _written(kept)
        if touched:
            names = [str(leaf) for leaf, item in leaves_of(arrays) for one in touched if item is one[0]]
            self._note(touched, arrays, attrs, code, [f"{who} wrote to its argument {name}" for name in names])
        for name, value in arrays.items():
            if isinstance(value, (list, tuple)) and not _is_same_list(value, inputs[name]):  # type: ignore[arg-type]
                self._tell(arrays, attrs, code, f"{who} wrote to its list argument {name}")
        if attrs and not is_same_option(dict(attrs), options):
            for name in {**attrs, **options}:
                if name not in attrs or name not in options or not is_same_option(attrs[name], options[name]):
                    self._tell(arrays, attrs, code, f"{who} wrote to its option {name}")

    def _note(self, touched: list[_Kept], arrays: Arrays, attrs: Attrs, code: str, messages: Iterable[str]) -> None:
        for one in touched:
            _put_back(one)
        for message in messages:
            self._tell(arrays, attrs, code, message)

    def _tell(self, arrays: Arrays, attrs: Attrs, code: str, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.breaches.append(Breach(code, message, _copied(Case(arrays, attrs, "normal", origin="called"))))

    def _look_at(self, kept: list[_Kept], values: Sequence[Any], arrays: Arrays, attrs: Attrs, what: str) -> None:
        """Compare forward's results or incoming gradients with what they were before backward."""
        touched = _written(kept)
        if touched:
            every = [item for item in values if type(item) is _ndarray]
            places = [place for place, item in enumerate(every) if any(item is one[0] for one in touched)]
            names = [what] if len(every) == 1 else [f"{what} {place}" for place in places]
            self._note(touched, arrays, attrs, "GC123", [f"backward wrote to its {name}" for name in names])

    # --- the op's functions
    def _forward(self, function: Callable[..., Any], who: str = "forward") -> Callable[..., Any]:
        def forward(arrays: Arrays, attrs: Attrs) -> Any:
            given = self._given(arrays, attrs)
            try:
                outputs = function(given[0], given[1])
                _look_at_numbers(outputs)
            except Exception as error:
                raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
            finally:
                self._look(arrays, attrs, given, "GC122", who)
            return outputs

        return forward

    def _backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def backward(
            arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
        ) -> Any:
            given, results, incoming = self._given(arrays, attrs), _kept(outputs), _kept(douts)
            try:
                return function(given[0], list(outputs), list(douts), given[1], needs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look(arrays, attrs, given, "GC123", "backward")
                self._look_at(results, outputs, arrays, attrs, "argument, forward's result")
                self._look_at(incoming, douts, arrays, attrs, "incoming gradient")

        return backward

    def _runner(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(arrays: Arrays, attrs: Attrs, douts: Sequence[Any]) -> Any:
            given = self._given(arrays, attrs)
            try:
                return function(given[0], given[1], list(douts))
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look(arrays, attrs, given, "GC122", "the op")

        return run

    def _vjp(self, function: Callable[..., tuple[Sequence[Any], Pullback]]) -> Callable[..., Any]:
        def vjp(arrays: Arrays, attrs: Attrs) -> tuple[Sequence[Any], Pullback]:
            given = self._given(arrays, attrs)
            try:
                outputs, pullback = function(given[0], given[1])
                _look_at_numbers(outputs)
            except Exception as error:
                raise readable(error)  # noqa: B904
            finally:
                self._look(arrays, attrs, given, "GC122", "forward")
            results = _kept(outputs)

            def pull(douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
                incoming = _kept(douts)
                try:
                    return pullback(list(douts), needs)
                except Exception as error:
                    raise readable(error)  # noqa: B904
                finally:
                    self._look(arrays, attrs, given, "GC123", "backward")
                    self._look_at(results, outputs, arrays, attrs, "argument, forward's result")
                    self._look_at(incoming, douts, arrays, attrs, "incoming gradient")

            return outputs, pull

        return vjp


def _look_at_numbers(outputs: Any) -> None:
    """Look at the dtypes of forward's results.

    Raises:
        KernelError: one is an array of records, texts or dates, on which no check can compute.
    """
    for place, item in enumerate(outputs):
        if type(item) is not _ndarray or item.dtype.num <= _LAST_NUMBER:
            continue
        if item.dtype.kind in _NO_NUMBERS or item.dtype.names is not None:
            raise KernelError(f"forward returned an array of {item.dtype} as result {place}, expected numbers")


def _is_same_list(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other))


def _copied(case: Case) -> Case:
    """Return a case of its own arrays and options."""
    inputs = {name: option_copied(value) for name, value in case.inputs.items()}
    return replace(case, inputs=inputs, attrs={name: option_copied(value) for name, value in case.attrs.items()})


def _cases(cases: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    """Copy each case as it is drawn: a cases function may fill one array again and again."""

    def drawn(rng: np.random.Generator) -> Iterator[Any]:
        for number, case in enumerate(cases(rng)):
            try:
                yield option_copied(dict(case) if isinstance(case, Mapping) else case)
            except RecursionError:
                raise NestingError(f"case {number}") from None

    return drawn
