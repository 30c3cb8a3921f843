"""Custody: what a user's function gets is looked at again when the function has returned, and put back.

Written arguments are found by their content, whatever way a kernel took; what is found is noted here, and the checks
report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.copies import is_same_option, option_copied
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.raised import readable
from opkit.checker.model.types import Arrays, Attrs, Function, Gradients, Pullback, Results
from opkit.errors import KernelError
from opkit.ir import Shape
from opkit.record import record

#: An array, and the bits, the shape and the dtype that it must keep.
_Kept: TypeAlias = tuple[ndarray, bytes, Shape, np.dtype]


@record
class Breach:
    """A write that a call left behind.

    Args:
        code: GC122 where forward wrote, GC123 where backward did.
        message: which call wrote to what.
        case: the inputs of that call.
        has_raised: whether the call raised then.
    """

    code: str
    message: str
    case: Case
    has_raised: bool = False


class _Given:
    """The arguments of one call: the caller's, as the function gets them, and what the arrays among them hold.

    Lists and options are copied for the function; ``has_copies`` says whether there are any.
    """

    __slots__ = ("arrays", "attrs", "has_copies", "inputs", "kept", "options")

    def __init__(self, arrays: Arrays, attrs: Attrs) -> None:
        self.arrays, self.attrs = arrays, attrs
        self.inputs: dict[str, Any] = dict(arrays)
        self.options = attrs and {name: option_copied(value) for name, value in attrs.items()}
        self.kept = _kept(arrays.values())
        self.has_copies = bool(attrs)
        for name, value in arrays.items():
            if type(value) is not ndarray and value is not None:
                self.inputs[name], self.has_copies = list(value), True
                self.kept += _kept(value)

    def changed(self) -> Iterator[str]:
        """Name the lists and the options in which the function put something else."""
        for name, value in self.arrays.items():
            if isinstance(value, (list, tuple)) and not is_same_option(list(value), self.inputs[name]):
                yield f"list argument {name}"
        for name in {**self.attrs, **self.options}:
            if not is_same_option(self.attrs.get(name), self.options.get(name)):
                yield f"option {name}"


class Custody:
    """Stands between the checker and one op's functions.

    Attributes:
        breaches: the writes found, of each kind the first whose call returned, or else the first, in their order.
    """

    def __init__(self) -> None:
        self.breaches: list[Breach] = []

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions looked after."""
        ways: dict[str, Callable[[Any], Any]] = {
            "forward": self._forward,
            "surrogate": partial(self._forward, who="the SURROGATE"),
            "backward": self._backward,
            "trace": self._backward,
            "vjp": self._vjp,
            "afresh": lambda afresh: lambda: self.over(afresh()),
            "own": lambda every: tuple(replace(item, run=self._runner(item.run)) for item in every),
            "runners": lambda every: {name: self._runner(run) for name, run in every.items()},
        }
        functions = {name: getattr(checkable, name) for name in ways}
        return replace(checkable, **{name: ways[name](one) for name, one in functions.items() if one is not None})

    def _call(
        self,
        given: _Given,
        code: str,
        who: str,
        function: Function,
        *args: Any,
        results: Sequence[Any] = (),
        douts: Sequence[Any] = (),
    ) -> Any:
        """Call a function, and look at what it was given, forward's results and incoming gradients among it."""
        kept, has_raised = [*given.kept, *_kept((*results, *douts))], True
        try:
            found = function(*args)
            has_raised = False
            return found
        except Exception as error:
            raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
        finally:
            written = [
                array
                for array, content, shape, dtype in kept
                if array.tobytes() != content or array.shape != shape or array.dtype is not dtype
            ]
            if written:
                for one in kept:
                    _put_back(*one)
                places = [(f"argument {leaf}", item) for leaf, item in leaves_of(given.arrays)]
                places += _numbered("argument, forward's result", results) + _numbered("incoming gradient", douts)
                names = [name for name, item in places if any(item is array for array in written)]
                self._tell(given, code, who, names, has_raised)
            if given.has_copies:
                self._tell(given, code, who, given.changed(), has_raised)

    def _tell(self, given: _Given, code: str, who: str, names: Iterable[str], has_raised: bool) -> None:
        for name in names:
            message = f"{who} wrote to its {name}"
            known = [place for place, breach in enumerate(self.breaches) if breach.message == message]
            if not known or (self.breaches[known[0]].has_raised and not has_raised):
                inputs, attrs = option_copied(dict(given.arrays)), option_copied(dict(given.attrs))
                place = known[0] if known else len(self.breaches)
                case = Case(inputs, attrs, "called", origin="called")
                self.breaches[place : place + 1] = [Breach(code, message, case, has_raised)]

    # --- the op's functions
    def _forward(self, function: Function, who: str = "forward") -> Function:
        def forward(arrays: Arrays, attrs: Attrs) -> Any:
            given = _Given(arrays, attrs)
            return _numbers(self._call(given, "GC122", who, function, given.inputs, given.options))

        return forward

    def _backward(self, function: Function) -> Function:
        def backward(
            arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
        ) -> Any:
            given = _Given(arrays, attrs)
            args = given.inputs, list(outputs), list(douts), given.options, needs
            return self._call(given, "GC123", "backward", function, *args, results=outputs, douts=douts)

        return backward

    def _runner(self, function: Function) -> Function:
        def run(arrays: Arrays, attrs: Attrs, douts: Sequence[Any]) -> Any:
            given = _Given(arrays, attrs)
            return self._call(given, "GC122", "the op", function, given.inputs, given.options, list(douts))

        return run

    def _vjp(self, function: Function) -> Function:
        def vjp(arrays: Arrays, attrs: Attrs) -> tuple[Sequence[Any], Pullback]:
            given = _Given(arrays, attrs)
            outputs, pullback = self._call(given, "GC122", "forward", function, given.inputs, given.options)

            def pull(douts: Results, needs: frozenset[str]) -> Gradients:
                args = pullback, list(douts), needs
                found: Gradients = self._call(given, "GC123", "backward", *args, results=outputs, douts=douts)
                return found

            return _numbers(outputs), pull

        return vjp


def _kept(values: Iterable[Any]) -> list[_Kept]:
    """Return arrays with what they hold now."""
    return [(item, item.tobytes(), item.shape, item.dtype) for item in values if type(item) is ndarray]


def _put_back(array: ndarray, content: bytes, shape: Shape, dtype: np.dtype) -> None:
    """Let an array hold again what it held."""
    with suppress(AttributeError, TypeError, ValueError):  # whoever owns the memory lets nobody write to it
        was_writeable = array.flags.writeable
        if isinstance(array.base, ndarray):
            array.base.flags.writeable = True
        array.dtype, array.flags.writeable = dtype, True  # type: ignore[misc]
        array.shape = shape
        array[...] = np.frombuffer(content, dtype).reshape(shape)
        array.flags.writeable = was_writeable


def _numbered(what: str, values: Sequence[Any]) -> list[tuple[str, Any]]:
    return [(what if len(values) == 1 else f"{what} {place}", item) for place, item in enumerate(values)]


def _numbers(outputs: Sequence[Any]) -> Sequence[Any]:
    """Return forward's results.

    Raises:
        KernelError: one is an array of records, texts or dates, on which no check can compute.
    """
    for place, item in enumerate(outputs):
        if type(item) is ndarray and (item.dtype.kind in "SUMm" or item.dtype.names is not None):
            raise KernelError(f"forward returned an array of {item.dtype} as result {place}, expected numbers")
    return outputs
