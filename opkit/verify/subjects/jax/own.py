"""What a rule must keep to beside a correct gradient: half precision, jit, vmap, results, no memory.

Those that run the function as JAX itself does run on the first case alone: every run compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np

from opkit.checker import CheckCode
from opkit.checker.model.agreement import agree
from opkit.checker.model.own import Fault, OwnCheck
from opkit.verify.codes import BATCHED, COMPILED, HALF, REMEMBERED, RULE_VALUE
from opkit.verify.subjects.jax.arrays import is_open, width_of
from opkit.verify.subjects.jax.device import Device
from opkit.verify.subjects.jax.half import half_precision

_Places = Sequence[tuple[str, "int | None"]]


class OwnRunner(Protocol):
    """A runner of something with a rule of its own."""

    device: Device

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Run the function."""

    def vjp(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[list[np.ndarray], Any]:
        """Run its rule, and return the way back too."""

    def flat(self, arrays: Mapping[str, Any]) -> tuple[list[np.ndarray], list[tuple[str, int | None]]]:
        """Return the arrays of every input in order, and which input each belongs to."""

    def open_places(self, leaves: Sequence[Any], places: _Places) -> list[int]:
        """Return the leaves that take a gradient."""

    def evaluated(self, function: Callable[..., Any], *args: Any) -> Sequence[Any]:
        """Return what a function of arrays gives."""

    def function_of(self, places: _Places, attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """Return leaves -> the leaves of the result."""

    def gradient_of(self, places: _Places, attrs: Mapping[str, Any], opened: Sequence[int]) -> Callable[..., Any]:
        """Return (leaves, incoming gradients of the float results) -> gradients of the open leaves."""


def own_checks(runner: OwnRunner) -> tuple[OwnCheck, ...]:
    """Return the checks of a function with a rule of its own."""
    checks = ((COMPILED, _compiled), (BATCHED, _batched), (REMEMBERED, _remembered))
    once = (OwnCheck(row, _Once(partial(_held, runner, check), row)) for row, check in checks)
    return (*once, OwnCheck(RULE_VALUE, partial(_results, runner)), OwnCheck(HALF, partial(half_precision, runner)))


def _held(
    runner: OwnRunner,
    check: Callable[..., list[Fault]],
    arrays: Mapping[str, Any],
    attrs: Mapping[str, Any],
    douts: Sequence[np.ndarray],
) -> list[Fault]:
    """Run a check that calls JAX itself where the runner's programs run."""
    with runner.device.held():
        return check(runner, arrays, attrs, douts)


class _Once:
    """Runs a check on the first case that has something to differentiate, and on no other."""

    def __init__(self, run: Callable[..., list[Fault]], row: CheckCode) -> None:
        self._run, self._row, self._found = run, row, False

    def __call__(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]) -> list[Fault]:
        sizes = [np.size(item) for value in arrays.values() for item in (value if isinstance(value, list) else [value])]
        if self._found or not all(sizes) or max(sizes, default=0) > 4096:
            return []
        self._found = True
        with width_of([item for value in arrays.values() for item in (value if isinstance(value, list) else [value])]):
            return self._run(arrays, attrs, douts)


def _results(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC214: the rule's own results are the function's."""
    for number, (one, other) in enumerate(zip(runner.forward(arrays, attrs), runner.vjp(arrays, attrs)[0])):
        if not agree(one, other):
            return [Fault(f"result {number} is another one under differentiation")]
    return []


def _parts(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> tuple[Callable[..., Any], list[np.ndarray], list[np.ndarray], list[str]]:
    """Return the gradient as a function, its two arguments, and the names of what it gives."""
    leaves, places = runner.flat(arrays)
    opened = runner.open_places(leaves, places)
    names = [_label(places[place]) for place in opened]
    return (
        runner.gradient_of(places, attrs, opened),
        leaves,
        [np.asarray(item) for item in douts if is_open(item)],
        names,
    )


def _label(place: tuple[str, int | None]) -> str:
    return place[0] if place[1] is None else f"{place[0]}[{place[1]}]"


def _compiled(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC211: under jit the results and gradients are those without it."""
    leaves, places = runner.flat(arrays)
    function = runner.function_of(places, attrs)
    try:
        plain = [np.asarray(item) for item in function(*leaves)]
    except Exception:  # what forward raises is another check's
        return []
    try:
        jitted = [np.asarray(item) for item in jax.jit(function)(*leaves)]
    except Exception as error:  # user code
        return [Fault(f"the function cannot run under jit: {_first_line(error)}", is_certain=False)]
    for number, (one, other) in enumerate(zip(plain, jitted, strict=True)):
        if not agree(one, other):
            return [Fault(f"result {number} is another one under jit")]
    gradient, leaves, seeds, names = _parts(runner, arrays, attrs, douts)
    if not names or not seeds:
        return []
    plain = gradient(leaves, seeds)
    try:
        jitted = jax.jit(gradient)(leaves, seeds)
    except Exception as error:  # user code
        return [Fault(f"the gradient cannot run under jit: {_first_line(error)}", is_certain=False)]
    return _differing(names, plain, jitted, "is another one under jit")


def _differing(names: Sequence[str], plain: Sequence[Any], others: Sequence[Any], what: str) -> list[Fault]:
    for name, one, other in zip(names, plain, others, strict=True):
        if not agree(np.asarray(one), np.asarray(other)):
            return [Fault(f"the gradient of {name} {what}", input=name.partition("[")[0])]
    return []


def _batched(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC212: under vmap each example's gradient is that of the example alone."""
    gradient, leaves, seeds, names = _parts(runner, arrays, attrs, douts)
    if not names or not seeds:
        return []
    examples = [leaves, [_moved(leaf) for leaf in leaves]]
    try:
        alone = [runner.evaluated(gradient, example, seeds) for example in examples]
    except Exception:  # not traceable: that it cannot run under jit is another check's
        return []
    stacked = [np.stack(pair) for pair in zip(*examples)]
    doubled = [np.stack([seed, seed]) for seed in seeds]
    try:
        found = runner.evaluated(jax.vmap(gradient), stacked, doubled)
    except Exception as error:  # user code
        return [Fault(f"the gradient cannot run under vmap: {_first_line(error)}", is_certain=False)]
    for number, example in enumerate(alone):
        faults = _differing(names, example, [item[number] for item in found], "is another one under vmap")
        if faults:
            return faults
    return []


def _moved(leaf: np.ndarray) -> np.ndarray:
    """Return another example: the elements in the opposite order, so that it lies in the domain if the first does."""
    return np.array(leaf.reshape(-1)[::-1].reshape(leaf.shape))


def _remembered(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC213: backward belongs to its own forward: calls in between, and traces before, change nothing."""
    leaves, places = runner.flat(arrays)
    opened = runner.open_places(leaves, places)
    seeds = [np.asarray(item) for item in douts if is_open(item)]
    if not opened or not seeds:
        return []
    gradient = runner.gradient_of(places, attrs, opened)
    function = runner.function_of(places, attrs)
    try:
        plain = gradient(leaves, seeds)
        outputs, pullback = jax.vjp(lambda *chosen: function(*_put(leaves, opened, chosen)), *_taken(leaves, opened))
        other = [_moved(leaf) * 2 if is_open(leaf) else leaf for leaf in leaves]
        jax.vjp(lambda *chosen: function(*_put(other, opened, chosen)), *_taken(other, opened))
        cotangents = iter(seeds)
        found = pullback(
            [next(cotangents) if is_open(item) else np.zeros(item.shape, jax.dtypes.float0) for item in outputs]
        )
    except jax.errors.UnexpectedTracerError as error:
        return [Fault(f"a value of one trace is used outside of it: {_first_line(error)}")]
    except Exception:  # what the rules raise is another check's
        return []
    names = [_label(places[place]) for place in opened]
    return _differing(names, plain, found, "is another one when forward runs again before backward")


def _put(leaves: Sequence[Any], opened: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    whole = list(leaves)
    for place, leaf in zip(opened, chosen, strict=True):
        whole[place] = leaf
    return whole


def _taken(leaves: Sequence[Any], opened: Sequence[int]) -> list[Any]:
    return [leaves[place] for place in opened]


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
