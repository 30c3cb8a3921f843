"""What a rule must keep to beside a correct gradient: half precision, jit, vmap, results, no memory.

Those that run the function as JAX itself does run on the first case alone: every run compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.agreement import agree
from opkit.checker.model.evaluate import InputLeaf, leaves_of
from opkit.checker.model.own import Fault, OwnCheck
from opkit.verify.codes import BATCHED, COMPILED, HALF, REMEMBERED, RULE_VALUE
from opkit.verify.subjects.foreign.running import differing, raised
from opkit.verify.subjects.half_precision import half_precision
from opkit.verify.subjects.jax.arrays import is_open, width_of
from opkit.verify.subjects.jax.runner import Call, Runner


def own_checks(runner: Runner) -> tuple[OwnCheck, ...]:
    """Return the checks of a function with a rule of its own."""
    checks = ((COMPILED, _compiled), (BATCHED, _batched), (REMEMBERED, _remembered))
    once = (OwnCheck(row, _Once(runner, check)) for row, check in checks)
    return (
        *once,
        OwnCheck(RULE_VALUE, partial(_results, runner)),
        OwnCheck(HALF, partial(half_precision, runner.run_in)),
    )


class _Once:
    """Runs a check on the first case that has something to differentiate, and on no other.

    Args:
        runner: of the function; what calls JAX itself runs on its device.
        check: (runner, call, incoming gradients of the float results) -> what is wrong.
    """

    def __init__(self, runner: Runner, check: Callable[[Runner, Call, list[np.ndarray]], Iterator[Fault]]) -> None:
        self._runner, self._check, self._found = runner, check, False

    def __call__(self, arrays: Arrays, attrs: Attrs, douts: Results) -> Iterator[Fault]:
        every = [array for _, array in leaves_of(arrays)]
        sizes = [array.size for array in every]
        if self._found or not all(sizes) or max(sizes, default=0) > 4096:
            return
        self._found = True
        with width_of(every), self._runner.device.held():
            seeds = [np.asarray(item) for item in douts if is_open(item)]
            yield from self._check(self._runner, self._runner.call_of(arrays, attrs), seeds)


def _results(runner: Runner, arrays: Arrays, attrs: Attrs, douts: Results) -> Iterator[Fault]:
    """GC214: the rule's own results are the function's."""
    yield from _differing(
        runner.forward(arrays, attrs), runner.vjp(arrays, attrs)[0], "is another one under differentiation"
    )


def _differing(results: Sequence[Any], others: Sequence[Any], what: str) -> Iterator[Fault]:
    for number, (one, other) in enumerate(zip(results, others)):
        if not agree(np.asarray(one), np.asarray(other)):
            yield Fault(f"result {number} {what}")


def _named(call: Call, gradients: Sequence[Any]) -> Mapping[InputLeaf, np.ndarray]:
    return dict(zip(call.sources, map(np.asarray, gradients), strict=True))


def _compiled(runner: Runner, call: Call, seeds: list[np.ndarray]) -> Iterator[Fault]:
    """GC211: under jit the results and gradients are those without it."""
    try:
        plain = call.function(*call.arrays)
    except Exception:  # what forward raises is another check's
        return
    try:
        jitted = jax.jit(call.function)(*call.arrays)
    except Exception as error:  # user code
        yield raised("the function cannot run under jit", error, is_certain=False)
        return
    yield from _differing(plain, jitted, "is another one under jit")
    if not call.opened or not seeds:
        return
    plain = call.gradient(call.arrays, seeds)
    try:
        jitted = jax.jit(call.gradient)(call.arrays, seeds)
    except Exception as error:  # user code
        yield raised("the gradient cannot run under jit", error, is_certain=False)
        return
    yield from differing(_named(call, plain), _named(call, jitted), "is another one under jit")


def _batched(runner: Runner, call: Call, seeds: list[np.ndarray]) -> Iterator[Fault]:
    """GC212: under vmap each example's gradient is that of the example alone."""
    if not call.opened or not seeds:
        return
    examples = [call.arrays, [_moved(array) for array in call.arrays]]
    try:
        alone = [runner.evaluated(call.gradient, example, seeds) for example in examples]
    except Exception:  # not traceable: that it cannot run under jit is another check's
        return
    stacked = [np.stack(pair) for pair in zip(*examples)]
    doubled = [np.stack([seed, seed]) for seed in seeds]
    try:
        found = runner.evaluated(jax.vmap(call.gradient), stacked, doubled)
    except Exception as error:  # user code
        yield raised("the gradient cannot run under vmap", error, is_certain=False)
        return
    for number, example in enumerate(alone):
        batched = _named(call, [item[number] for item in found])
        yield from differing(_named(call, example), batched, "is another one under vmap")


def _moved(array: np.ndarray) -> np.ndarray:
    """Return another example: the elements in the opposite order, so that it lies in the domain if the first does."""
    return np.array(array.reshape(-1)[::-1].reshape(array.shape))


def _remembered(runner: Runner, call: Call, seeds: list[np.ndarray]) -> Iterator[Fault]:
    """GC213: backward belongs to its own forward: calls in between, and traces before, change nothing."""
    if not call.opened or not seeds:
        return
    try:
        plain = call.gradient(call.arrays, seeds)
        _, pullback = call.pulled(call.arrays)
        call.pulled([_moved(array) * 2 if is_open(array) else array for array in call.arrays])
        found = pullback(seeds)
    except jax.errors.UnexpectedTracerError as error:
        yield raised("a value of one trace is used outside of it", error)
        return
    except Exception:  # what the rules raise is another check's
        return
    what = "is another one when forward runs again before backward"
    yield from differing(_named(call, plain), _named(call, found), what)
