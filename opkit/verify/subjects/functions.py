"""Functions: a forward and a backward of numpy arrays, and which of their parameters take inputs, results and options.

Calls only; where inputs come from, and what is made of the results, is decided elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.evaluate import is_float, leaves_of
from opkit.checker.model.raised import is_of_user
from opkit.checker.model.types import Ran
from opkit.errors import UsageError
from opkit.listed import listed
from opkit.ops.core.types import Function
from opkit.verify.subjects.parameters import Parameters, parameters_in
from opkit.verify.subjects.subject import Signature, SubjectRunner

#: First parameters of a backward that takes the incoming gradients before the inputs.
_DOUTS = frozenset({"dy", "dout", "douts", "g", "gy", "grad", "grad_output", "grad_y", "cotangent", "upstream"})
#: What code that was typed in, and stands in no file, has as its file's name.
_TYPED = ("<stdin>", "<string>", "<ipython-input", "<doctest")
#: A backward that is called with (values by name, results, incoming gradients).
Bound = Callable[[Mapping[str, Any], list[Any], list[Any]], Any]
_PLAIN = (bool, int, float, str, type(None))


def is_input(value: Any) -> bool:
    """Return whether a value is an input: an array, a float, a list of arrays or of numbers; all else is an option."""
    if isinstance(value, (list, tuple)) and not is_list_of_arrays(value):
        return bool(value) and all(isinstance(item, (int, float, list, tuple)) for item in value)
    return isinstance(value, (np.ndarray, np.generic, float, list, tuple))


def is_list_of_arrays(value: Any) -> bool:
    """Return whether a value is a list of arrays, which stays one."""
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, np.ndarray) for item in value)


def as_input(value: Any) -> Any:
    """Return an input as an array, or as a list of arrays."""
    return list(value) if is_list_of_arrays(value) else np.asarray(value)


def is_plain_option(value: Any) -> bool:
    """Return whether a value can be written down, and others tried in its place: plain, or a list of plain ones."""
    return all(map(is_plain_option, value)) if isinstance(value, (list, tuple)) else isinstance(value, _PLAIN)


def options_of(forward: Function, given: Collection[str]) -> dict[str, Any]:
    """Return {option: default} of the parameters that a user's own function has beside those that are given.

    A library's function has none: its further parameters are not what its user wrote a gradient for.
    """
    code = getattr(inspect.unwrap(getattr(forward, "__func__", forward)), "__code__", None)
    if code is None or not (code.co_filename.startswith(_TYPED) or is_of_user(code.co_filename)):
        return {}
    defaults = parameters_in(forward).defaults
    return {name: value for name, value in defaults.items() if name not in given and is_plain_option(value)}


class FunctionsRunner(SubjectRunner):
    """Runs a forward and a backward of numpy arrays as they stand.

    Args:
        forward: takes those of its parameters by position that are inputs or have no default, options by name.
        backward: takes inputs and incoming gradients, or inputs, results and incoming gradients, the incoming ones
            first where its first parameter says so by its name; options where it has parameters of their names.
        signature: of forward.
    """

    gives_none = True

    def __init__(self, forward: Function, backward: Function, signature: Signature) -> None:
        super().__init__(forward, signature)
        self._backward = backward
        names, known = signature.parameters.names, signature.parameters
        self._given = [name for name in known.positional if name in signature.inputs or name not in known.defaults]
        self._arrays = [name for name in names if name in signature.inputs]
        self._options = [name for name in names if name not in self._given]
        #: How backward is called for so many results: (values by name, results, incoming gradients) -> its result.
        self.binding = cache(self._bound)

    def like(self, function: Function, signature: Signature) -> FunctionsRunner:
        """Return a runner of another function, with the same backward."""
        return FunctionsRunner(function, self._backward, signature)

    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run forward; see ``opkit.checker.Forward``."""
        values = self.parameters.shown({**self.parameters.defaults, **attrs, **arrays})
        named = {name: values[name] for name in self._options if name in values}
        return listed(self.call(*(values[name] for name in self._given), **named))

    def backward(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> Mapping[str, Any]:
        """Run backward; see ``opkit.checker.Backward``."""
        values = self.parameters.shown({**self.parameters.defaults, **attrs, **arrays})
        found = listed(self.binding(len(douts))(values, list(outputs), list(douts)))
        floats = [leaf.name for leaf, array in leaves_of(arrays) if leaf.index in (None, 0) and is_float(array)]
        static = self.subject.static
        for names in (floats, self._arrays, self._given):
            if len(found) == len(names):
                unasked = [name for name, gradient in zip(names, found) if name in static and gradient is not None]
                if unasked:
                    raise UsageError(f"backward gives a gradient of {unasked[0]}, an option: give an array of it")
                return {name: gradient for name, gradient in zip(names, found) if name in needs}
        known = ", ".join(self._arrays)
        raise UsageError(f"backward returned {len(found)} gradients for {len(self._arrays)} inputs ({known})")

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run forward and return the way back."""
        outputs = self.forward(arrays, attrs)
        return outputs, lambda douts, needs: self.backward(arrays, outputs, douts, attrs, needs)

    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the inputs for which backward gives None while it gives others a gradient."""
        outputs, pullback = self.vjp(arrays, attrs)
        found = pullback([np.ones_like(item) for item in outputs], self.inputs)
        silent = frozenset(name for name in self.inputs if found.get(name) is None)
        return silent if silent != self.inputs else frozenset()

    def _bound(self, outputs: int) -> Bound:
        """Return how backward is called.

        Raises:
            UsageError: its parameters fit no signature.
        """
        try:
            known = parameters_in(self._backward)
        except ValueError:
            known = Parameters((), "args")
        options = (*self._options, *(name for name in options_of(self.call, ()) if name not in self._options))
        named = [name for name in options if name in (*known.positional, *known.named)]
        positional = [name for name in known.positional if name not in named]
        required = [name for name in positional if name not in known.defaults]
        is_first = bool(positional) and positional[0].lower() in _DOUTS
        for every in (self._given, self._arrays):
            names = [name for name in every if name not in named]
            for takes_results in (False, True):
                wanted = len(names) + outputs * (1 + takes_results)
                if known.starred or len(required) <= wanted <= len(positional):
                    return self._order(names, is_first, takes_results, named, positional)
        count, further = len(self._given), 2 * outputs
        raise UsageError(
            f"backward takes {len(required)} arguments; expected {count + outputs} (inputs, then incoming gradients) "
            f"or {count + further} (inputs, outputs, incoming gradients)"
        )

    def _order(
        self, names: Sequence[str], is_first: bool, takes_results: bool, named: Sequence[str], positional: Sequence[str]
    ) -> Bound:
        def call(values: Mapping[str, Any], ys: list[Any], dys: list[Any]) -> Any:
            xs = [values[name] for name in names]
            args = [*xs, *ys] if takes_results else xs
            args = [*dys, *args] if is_first else [*args, *dys]
            options = {name: values[name] for name in named if name in values}
            # By name, since an option may stand between them.
            return self._backward(**dict(zip(positional, args)), **options) if options else self._backward(*args)

        return call
