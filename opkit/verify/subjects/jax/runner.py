"""Runner: a function of JAX on numpy arrays: traced once for each set of shapes, evaluated in numpy or on a device.

What cannot be traced (a branch on a value) runs as it is, operation by operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from traceback import clear_frames
from types import TracebackType
from typing import Any, NamedTuple

import jax
import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.evaluate import InputLeaf
from opkit.checker.model.types import Computed, Ran
from opkit.listed import listed
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.subjects.foreign.running import ForeignRunner, by_name
from opkit.verify.subjects.jax.arrays import is_open, numpy_of, shapes_of, width_of
from opkit.verify.subjects.jax.device import NUMPY, Device
from opkit.verify.subjects.jax.interpret import computed_in
from opkit.verify.subjects.parameters import leaves_in, nested
from opkit.verify.subjects.subject import Signature

_UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


class _Raised(NamedTuple):
    """In the place of a program: what the function raised, and where."""

    error: Exception
    trace: TracebackType | None

    def __call__(self, *args: Any) -> Any:
        """Raise it again."""
        raise self.error.with_traceback(self.trace)


@record
class Call:
    """One call: the function and its gradient as functions of arrays alone.

    Args:
        run: arrays in the places of the inputs' -> what the function gives.
        arrays: the arrays of every input in order.
        places: which input each belongs to, and which place in a list.
        opened: the numbers of those that take a gradient.
        options: all other arguments as a key, None where they cannot be one.
    """

    run: Function
    arrays: Sequence[Any]
    places: Sequence[InputLeaf]
    opened: Sequence[int]
    options: Any

    @property
    def sources(self) -> list[InputLeaf]:
        """The arrays that take a gradient."""
        return [self.places[number] for number in self.opened]

    def function(self, *arrays: Any) -> list[Any]:
        """Return the leaves of the result."""
        return list(jax.tree.leaves(self.run(arrays)))

    def pulled(self, arrays: Sequence[Any]) -> tuple[list[Any], Function]:
        """Return the results as the rule computes them, and JAX's way back to the arrays that take a gradient."""

        def of_open(*chosen: Any) -> list[Any]:
            whole = list(arrays)
            for number, array in zip(self.opened, chosen):
                whole[number] = array
            return self.function(*whole)

        outputs, pullback = jax.vjp(of_open, *(arrays[number] for number in self.opened))
        return outputs, lambda seeds: pullback(_cotangents(outputs, seeds))

    def values(self, *arrays: Any) -> list[Any]:
        """Return the results that the rule itself computes on the way to the gradient."""
        return self.pulled(arrays)[0]

    def gradient(self, arrays: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """Return the gradients for incoming ones of the float results."""
        return list(self.pulled(arrays)[1](seeds))


def _cotangents(outputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    given = iter(seeds)
    return [
        jax.numpy.asarray(next(given)).astype(item.dtype) if is_open(item) else np.zeros(item.shape, jax.dtypes.float0)
        for item in outputs
    ]


class Runner(ForeignRunner):
    """Runs a function.

    Args:
        call: takes the arguments by position; keyword-only ones by name.
        signature: of the function; its inputs are arrays or trees of them.
        device: where it runs.
    """

    def __init__(self, call: Function, signature: Signature, device: Device = NUMPY) -> None:
        super().__init__(call, signature)
        self.device = device
        self._traces: dict[Any, Any] = {}

    def like(self, function: Function, signature: Signature) -> Runner:
        """Return a runner of another function on the same device."""
        return Runner(function, signature, self.device)

    def parts(self, name: str) -> tuple[str, ...]:
        """Return what the leaves of an input's tree are called."""
        try:
            ((count, planted),) = [(key[1], tree) for key, tree in self.parameters.trees.items() if key[0] == name]
            paths, _ = jax.tree_util.tree_flatten_with_path(planted(range(count)))
        except Exception:  # it is not one tree; or user code, whose classes may refuse what stands in for arrays
            return ()
        return tuple(jax.tree_util.keystr(path) for path, _ in paths)

    def call_of(self, arrays: Arrays, attrs: Attrs) -> Call:
        """Return a call with arrays, or with what JAX traces."""
        found = dict(leaves_in({name: arrays[name] for name in sorted(self.inputs) if name in arrays}))
        places = list(found)
        opened = [
            number
            for number, (place, array) in enumerate(found.items())
            if is_open(array) and place.name not in self.constants
        ]
        return Call(partial(self._run, places, attrs), list(found.values()), places, opened, _key(attrs))

    def _run(self, places: Sequence[InputLeaf], attrs: Attrs, arrays: Sequence[Any]) -> Any:
        """Call the function with arrays in the places of its inputs."""
        return self.called({**attrs, **nested(dict(zip(places, arrays)))})

    # --- what the checker calls
    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run the function; see ``opkit.checker.Forward``."""
        call = self.call_of(arrays, attrs)
        return self._evaluated(call, call.function, *call.arrays)

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run the function and return the way back."""
        call = self.call_of(arrays, attrs)
        outputs = self._evaluated(call, call.values if call.opened else call.function, *call.arrays)
        held = [np.array(array) for array in call.arrays]

        def pullback(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            seeds = [np.asarray(dout, item.dtype) for dout, item in zip(douts, outputs) if item.dtype.kind == "f"]
            found = self._evaluated(call, call.gradient, held, seeds) if call.opened and seeds else []
            gradients = dict.fromkeys(call.sources) | dict(zip(call.sources, found))
            return by_name(arrays, gradients, needs & (self.inputs - self.constants))

        return outputs, pullback

    def _evaluated(self, call: Call, function: Function, *args: Any) -> list[np.ndarray]:
        """Return what a function of a call gives; what cannot be traced runs as it is."""
        key = self._key(call, function, args)
        with width_of(call.arrays):
            return [numpy_of(np.asarray(item)) for item in self._program(key, function, *args)(*args)]

    @staticmethod
    def _key(call: Call, function: Function, args: Sequence[Any]) -> tuple[Any, ...]:
        return function.__name__, call.options, tuple(call.places), shapes_of(jax.tree.leaves(args))

    def evaluated(self, function: Function, *args: Any) -> Sequence[Any]:
        """Return what a function of arrays gives.

        Raises:
            Exception: it cannot be traced; user code raised.
        """
        return self.device.prepared(function, jax.make_jaxpr(function)(*args))(*args)

    def _program(self, key: Any, function: Function, *args: Any) -> Any:
        """Return what runs the function's program for these shapes, or the function as it is."""
        found = self._traces.get(key) if key[1] is not None else None
        if found is None:
            try:
                found = self.device.prepared(function, jax.make_jaxpr(function)(*args))
            except _UNTRACEABLE:
                found = partial(self.device.run, function)
            except Exception as error:  # shapes that it does not take: a search asks for them again and again
                clear_frames(error.__traceback__)
                found = _Raised(error, error.__traceback__)
            if key[1] is not None:
                self._traces[key] = found
        return found

    def run_in(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function in a format; see ``opkit.checker.model.reference.InFormat``."""
        dtype = np.dtype(getattr(jax.numpy, format))
        with jax.enable_x64(format == "float64"):
            call = self.call_of(arrays, attrs)
            given = [array.astype(dtype) if array.dtype.kind == "f" else array for array in call.arrays]
            outputs = self._in_any(call, call.function, *given)
            wide = [item.astype(np.float64) if is_open(item) else item for item in outputs]
            if douts is None or not call.opened:
                return wide, {}
            whole = [*douts, *(np.zeros(item.shape) for item in outputs[len(douts) :])]
            seeds = [seed.astype(item.dtype) for seed, item in zip(whole, outputs) if is_open(item)]
            found = [item.astype(np.float64) for item in self._in_any(call, call.gradient, given, seeds)]
        return wide, by_name(arrays, dict(zip(call.sources, found)), self.inputs)

    def _in_any(self, call: Call, function: Function, *args: Any) -> list[np.ndarray]:
        """Return what a function gives, from its traced program; JAX runs what numpy cannot at this precision."""
        key = "in a format", *self._key(call, function, args)
        traced = self._traces.get(key) or jax.make_jaxpr(function)(*args)
        if call.options is not None:
            self._traces[key] = traced
        try:
            return [np.asarray(item) for item in self.device.prepared(function, traced)(*args)]
        except Exception:
            found = jax.core.eval_jaxpr(traced.jaxpr, traced.consts, *jax.tree.leaves(args))
            return [np.asarray(item) for item in found]

    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the float inputs for which backward gives None, or zeros whatever the values are."""
        outputs, pullback = self.vjp(arrays, attrs)
        rng = np.random.default_rng(0)
        seeds = [rng.uniform(0.5, 1.5, item.shape).astype(item.dtype) for item in outputs]
        found = pullback(seeds, self.inputs)
        zeros = {name for name, value in found.items() if not any(map(np.any, listed(value)))}
        return frozenset(zeros - self._computed(arrays, attrs, seeds) if zeros else zeros)

    def _computed(self, arrays: Arrays, attrs: Attrs, seeds: Sequence[np.ndarray]) -> set[str]:
        """Return the inputs whose gradient is computed of others: 0 by chance, as in a softmax of one."""
        call = self.call_of(arrays, attrs)
        given = [seed for seed in seeds if seed.dtype.kind == "f"]
        try:
            with width_of(call.arrays):
                traced = jax.make_jaxpr(call.gradient)(call.arrays, given).jaxpr
        except Exception:  # user code: what cannot be traced tells nothing
            return set()
        every = computed_in(traced, [True] * len(traced.invars))
        return {leaf.name for leaf, is_computed in zip(call.sources, every) if is_computed}

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say of each output whether it takes no part in differentiation."""
        return [item.dtype.kind != "f" for item in self.forward(arrays, attrs)]


def _key(attrs: Attrs) -> Any:
    """Return options as a key, None where they cannot be one."""
    key = tuple((name, type(value), value) for name, value in sorted(attrs.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key
