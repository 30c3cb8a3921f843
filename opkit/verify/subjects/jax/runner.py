"""Runner: a function of JAX on numpy arrays: traced once for each set of shapes, evaluated in numpy or on a device.

What cannot be traced (a branch on a value) runs as it is, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from opkit.checker import Checkable
from opkit.checker.model.own import OwnCheck
from opkit.checker.model.reference import InFormat
from opkit.verify.subjects.jax.arrays import is_open, plain, shapes_of, width_of
from opkit.verify.subjects.jax.device import NUMPY, Device
from opkit.verify.subjects.jax.formats import in_format
from opkit.verify.subjects.parameters import Parameters
from opkit.verify.subjects.references import taken_by

_UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


#: In the place of a program: the function looks at values.
_CONCRETE = object()


class Runner:
    """Runs a function.

    Args:
        function: takes the arguments by position; keyword-only ones by name.
        parameters: of the function.
        inputs: the parameters that take arrays or trees of them.
        constants: those of them that take no gradient.
        trees: {input: the structure of its tree}, for those that are not single arrays.
        device: where it runs.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: Parameters,
        inputs: frozenset[str],
        constants: frozenset[str],
        trees: Mapping[str, Any],
        device: Device = NUMPY,
    ) -> None:
        self.function, self.parameters = function, parameters
        self.inputs, self.constants, self.trees = inputs, constants, trees
        self.device = device
        self.overwrites: frozenset[str] = frozenset()
        self.format: str | None = None
        self._traces: dict[Any, Any] = {}

    # --- arguments
    def flat(self, arrays: Mapping[str, Any]) -> tuple[list[np.ndarray], list[tuple[str, int | None]]]:
        """Return the arrays of every input in order, and which input (and place in a list) each belongs to."""
        leaves: list[np.ndarray] = []
        places: list[tuple[str, int | None]] = []
        for name in sorted(self.inputs):
            value = arrays.get(name)
            if isinstance(value, (list, tuple)):
                leaves += [np.asarray(item) for item in value]
                places += [(name, index) for index in range(len(value))]
            elif value is not None:
                leaves.append(np.asarray(value))
                places.append((name, None))
        return leaves, places

    def called(self, leaves: Sequence[Any], places: Sequence[tuple[str, int | None]], attrs: Mapping[str, Any]) -> Any:
        """Call the function with arrays (or tracers) in the places of its inputs."""
        values: dict[str, Any] = dict(attrs)
        for leaf, (name, index) in zip(leaves, places):
            if index is None:
                values[name] = leaf
            else:
                values.setdefault(name, [])
                values[name] = [*values[name], leaf]
        for name, tree in self.trees.items():
            if isinstance(values.get(name), list):
                values[name] = jax.tree.unflatten(tree, values[name])
        positional, defaults = self.parameters.positional, self.parameters.defaults
        rest = {key: item for key, item in values.items() if not self._is_left_out(key, item)}
        last = max((place for place, name in enumerate(positional) if name in rest), default=-1)
        args = [rest.pop(name) if name in rest else defaults.get(name) for name in positional[: last + 1]]
        if self.parameters.starred and self.parameters.starred in rest:
            args.extend(rest.pop(self.parameters.starred) or ())
        return self.function(*args, **rest)

    def _is_left_out(self, name: str, value: Any) -> bool:
        return value is None and name in self.inputs and name in self.parameters.defaults

    def open_places(self, leaves: Sequence[Any], places: Sequence[tuple[str, int | None]]) -> list[int]:
        """Return the leaves that take a gradient."""
        return [
            number
            for number, (leaf, (name, _)) in enumerate(zip(leaves, places))
            if is_open(leaf) and name not in self.constants
        ]

    # --- the function and its gradient, as functions of leaves alone
    def function_of(self, places: Sequence[tuple[str, int | None]], attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """Return leaves -> the leaves of the result."""
        return lambda *leaves: jax.tree.leaves(self.called(leaves, places, attrs))

    def gradient_of(
        self, places: Sequence[tuple[str, int | None]], attrs: Mapping[str, Any], opened: Sequence[int]
    ) -> Callable[..., Any]:
        """Return (leaves, incoming gradients of the float results) -> gradients of the open leaves."""

        def gradient(leaves: Sequence[Any], seeds: Sequence[Any]) -> Any:
            def of_open(*chosen: Any) -> Any:
                whole = list(leaves)
                for place, leaf in zip(opened, chosen):
                    whole[place] = leaf
                return jax.tree.leaves(self.called(whole, places, attrs))

            outputs, pullback = jax.vjp(of_open, *(leaves[place] for place in opened))
            given = iter(seeds)
            cotangents = [
                jax.numpy.asarray(next(given)).astype(item.dtype)
                if is_open(item)
                else np.zeros(item.shape, jax.dtypes.float0)
                for item in outputs
            ]
            return pullback(cotangents)

        return gradient

    # --- what the checker calls
    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Run the function; see ``opkit.checker.Forward``."""
        leaves, places = self.flat(arrays)
        with width_of(leaves):
            function = self.function_of(places, attrs)
            key = ("forward", _key(attrs), tuple(places), shapes_of(leaves))
            return [_result(item) for item in self._run(key, function, *leaves)]

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Run the function and return the way back."""
        leaves, places = self.flat(arrays)
        opened = self.open_places(leaves, places)
        outputs = self._values(leaves, places, attrs, opened) if opened else self.forward(arrays, attrs)
        is_float = [item.dtype.kind == "f" for item in outputs]
        held = [np.array(leaf) for leaf in leaves]

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            seeds = [np.asarray(dout, output.dtype) for dout, output, wanted in zip(douts, outputs, is_float) if wanted]
            found = self._gradients(held, places, attrs, opened, seeds)
            return _by_name(arrays, places, opened, found, needs & (self.inputs - self.constants))

        return outputs, pullback

    def _values(
        self,
        leaves: list[np.ndarray],
        places: Sequence[tuple[str, int | None]],
        attrs: Mapping[str, Any],
        opened: Sequence[int],
    ) -> list[np.ndarray]:
        """Return the results that the rule itself computes on the way to the gradient."""
        with width_of(leaves):
            function = self.function_of(places, attrs)

            def values(*given: Any) -> Any:
                def of_open(*chosen: Any) -> Any:
                    whole = list(given)
                    for place, leaf in zip(opened, chosen):
                        whole[place] = leaf
                    return function(*whole)

                return jax.vjp(of_open, *(given[place] for place in opened))[0]

            key = ("values", _key(attrs), tuple(places), tuple(opened), shapes_of(leaves))
            return [_result(item) for item in self._run(key, values, *leaves)]

    def _gradients(
        self,
        leaves: list[np.ndarray],
        places: Sequence[tuple[str, int | None]],
        attrs: Mapping[str, Any],
        opened: Sequence[int],
        seeds: list[np.ndarray],
    ) -> list[np.ndarray]:
        if not opened or not seeds:
            return [np.zeros_like(leaves[place]) for place in opened]
        with width_of(leaves):
            gradient = self.gradient_of(places, attrs, opened)
            key = ("gradient", _key(attrs), tuple(places), tuple(opened), shapes_of(leaves), shapes_of(seeds))
            return [np.asarray(item) for item in self._run(key, gradient, leaves, seeds)]

    def evaluated(self, function: Callable[..., Any], *args: Any) -> Sequence[Any]:
        """Return what a function of arrays gives.

        Raises:
            Exception: it cannot be traced; user code raised.
        """
        return self.device.prepared(function, jax.make_jaxpr(function)(*args))(*args)

    def _run(self, key: Any, function: Callable[..., Any], *args: Any) -> Sequence[Any]:
        """Return what a function gives; what cannot be traced runs as it is."""
        found = self._traced(key, function, *args)
        return self.device.run(function, *args) if found is None else found(*args)

    def _traced(self, key: Any, function: Callable[..., Any], *args: Any) -> Any:
        """Return what runs the function's program for these shapes; None where it cannot be traced."""
        found = self._traces.get(key) if key[1] is not None else None
        if found is None:
            try:
                found = self.device.prepared(function, jax.make_jaxpr(function)(*args))
            except _UNTRACEABLE:
                found = _CONCRETE
            except Exception as error:  # shapes that it does not take: a search asks for them again and again
                found = error.with_traceback(None)
            if key[1] is not None:
                self._traces[key] = found
        if isinstance(found, Exception):
            raise found
        return None if found is _CONCRETE else found

    def surrogate(self, function: Callable[..., Any]) -> Callable[..., list[np.ndarray]]:
        """Return a declared function, which takes the same arguments, as a forward."""
        return Runner(function, self.parameters, self.inputs, self.constants, self.trees, self.device).forward

    def reference(self, function: Callable[..., Any]) -> InFormat:
        """Return a declared function, which takes the same arguments or some of them by name, in any format."""
        own = taken_by(function, self.parameters)
        inputs = self.inputs if own is None else self.inputs.intersection(own.names)
        trees = {name: tree for name, tree in self.trees.items() if name in inputs}
        other = Runner(function, own or self.parameters, inputs, self.constants, trees, self.device)

        def run(arrays: Any, attrs: Any, douts: Any, format: str) -> Any:
            chosen = attrs if own is None else {name: value for name, value in attrs.items() if name in own.names}
            return other.in_format(arrays, chosen, douts, format)

        return run

    @property
    def in_format(self) -> InFormat:
        """The function itself in any format."""
        return partial(in_format, self)

    def silent_inputs(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> frozenset[str]:
        """Return the float inputs for which backward gives None or nothing but zeros."""
        outputs, pullback = self.vjp(arrays, attrs)
        rng = np.random.default_rng(0)
        seeds = [rng.uniform(0.5, 1.5, item.shape).astype(item.dtype) for item in outputs]
        found = pullback(seeds, self.inputs)
        return frozenset(
            name
            for name, value in found.items()
            if not any(np.any(item) for item in (value if isinstance(value, list) else [value]))
        )

    def fixed_outputs(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[bool]:
        """Say of each output whether it takes no part in differentiation."""
        return [item.dtype.kind != "f" for item in self.forward(arrays, attrs)]

    def is_misfit(self, error: Exception) -> bool:
        """Say whether what backward raised is that a gradient does not have its input's shape."""
        return "shapes do not match" in str(error)

    def steady(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
        """Say whether forward draws no hidden random numbers: JAX has none."""
        return True

    def own_checks(self) -> Sequence[OwnCheck]:
        """Return no check: only custom functions have some."""
        return ()

    def second(self, first: Checkable, example: Mapping[str, Any]) -> Checkable | None:
        """Return None: only custom functions have rules of their own."""
        return None


def _result(item: Any) -> np.ndarray:
    found = plain(item) if isinstance(item, jax.Array) else np.asarray(item)
    return found.astype(np.float32) if found.dtype.kind == "V" else np.asarray(found)


def _key(attrs: Mapping[str, Any]) -> Any:
    """Return options as a key, None where they cannot be one."""
    key = tuple((name, type(value), value) for name, value in sorted(attrs.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _by_name(
    arrays: Mapping[str, Any],
    places: Sequence[tuple[str, int | None]],
    opened: Sequence[int],
    found: Sequence[np.ndarray],
    needs: frozenset[str],
) -> dict[str, Any]:
    gradients = dict(zip((places[place] for place in opened), found))
    result: dict[str, Any] = {}
    for name, value in arrays.items():
        if name not in needs:
            continue
        if isinstance(value, (list, tuple)):
            result[name] = [gradients.get((name, index), np.zeros_like(item)) for index, item in enumerate(value)]
        elif (name, None) in gradients:
            result[name] = gradients[name, None]
    return result
