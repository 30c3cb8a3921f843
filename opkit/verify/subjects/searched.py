"""A checkable from a PyLayer without cases: its arguments are guessed, and forward says by trial what it takes.

The search itself is the checker's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, Options, constants_of, first_case
from opkit.checker.model.evaluate import is_float, leaves_of
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.guess import Guess, annotations_of, guesses
from opkit.verify.subjects.neighbours import with_choices
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.runner import Runner
from opkit.verify.subjects.second import second_of

__all__ = ["searched_layer"]


def searched_layer(layer: Any, declared: Declared, name: str, options: Options) -> Checkable | None:
    """Make a checkable of a PyLayer whose inputs are to be searched.

    Args:
        layer: the class.
        declared: exceptions that the file declares.
        name: what the report calls it.
        options: seed, and shapes given by hand.

    Returns:
        the checkable, None where forward took nothing that was tried.
    """
    parameters = parameters_of(layer)
    for guess in guesses(parameters, annotations_of(layer.forward)):
        if not guess.inputs:
            continue
        runner = Runner(layer, parameters, frozenset(guess.inputs), frozenset())
        made = _made(layer, runner, guess, parameters.starred, declared, name)
        with np.errstate(all="ignore"):
            case = first_case(made, options)
        if case is not None:
            return replace(made, second=_second(made, runner, case))
    return None


def _second(made: Checkable, runner: Runner, case: Case) -> Checkable | None:
    """Return the gradient as an op, checked on the case that forward took."""
    floats = frozenset(leaf.name for leaf, array in leaves_of(case.inputs) if is_float(array))
    example = {**case.inputs, **case.attrs}
    return second_of(replace(made, recorded=(case,), gradients=floats), runner, example)


def _made(layer: Any, runner: Runner, guess: Guess, starred: str, declared: Declared, name: str) -> Checkable:
    made = Checkable(
        name=name,
        inputs=tuple(Arg(item, item in guess.optional, item == starred) for item in guess.inputs),
        outputs=(Arg("y"),),
        forward=runner.forward,
        vjp=runner.vjp,
        attrs=tuple(Attr(item, "any", value) for item, value in guess.options.items()),
        constants=constants_of([layer.forward, layer.backward]),
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        surrogate=None if declared.surrogate is None else runner.surrogate(declared.surrogate),
        tolerance=declared.tolerance,
        allow=declared.allow,
        asks_second=declared.second_order,
        forward_where=location_of(layer.forward),
        backward_where=location_of(layer.backward),
    )
    return with_choices(made, [layer.forward, layer.backward])
