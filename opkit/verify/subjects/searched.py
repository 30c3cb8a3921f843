"""A checkable from a PyLayer without cases: its arguments are guessed, and forward says by trial what it takes.

The search itself is the checker's.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, Options, constants_of, first_case
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen, is_float, leaves_of
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.guess import Guess, annotations_of, guesses
from opkit.verify.subjects.neighbours import with_choices
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.runner import Runner
from opkit.verify.subjects.second import second_of

__all__ = ["searched_layer"]

#: Seconds after which all readings of a signature are given up.
READING_SECONDS = 8.0
#: Shares by which an input is moved to see whether any result depends on it.
NUDGES = (1e-6, -1e-5)


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
    until = perf_counter() + READING_SECONDS
    for guess in guesses(parameters, annotations_of(layer.forward)):
        if not guess.inputs:
            continue
        runner = Runner(layer, parameters, frozenset(guess.inputs), frozenset())
        made = _made(layer, runner, guess, parameters.starred, declared, name)
        with np.errstate(all="ignore"):
            case = first_case(made, options, give_up=until)
        if case is None:
            continue
        flat = _flat(made, case)
        if flat:
            runner = Runner(layer, parameters, frozenset(guess.inputs), flat)
            made = replace(
                _made(layer, runner, guess, parameters.starred, declared, name),
                gradients=frozenset(item for item in guess.inputs if item not in flat),
            )
        return replace(made, second=_second(made, runner, case))
    return None


def _flat(made: Checkable, case: Case) -> frozenset[str]:
    """Return the float inputs that count as constants: backward gives None for them, and no result depends on them.

    They are masks, lengths and the like, which forward takes as floats too. None for any other input is a mistake.
    """
    evaluator = Evaluator(made, case)
    try:
        with np.errstate(all="ignore"):
            evaluator.prepare()
            evaluator.gradients([np.ones(item.shape, item.dtype) for item in evaluator.outputs])
            return frozenset()
    except Exception as error:  # user code: what it raises is reported by the checks
        if "returned None" not in str(error):
            return frozenset()
    return frozenset(leaf.name for leaf in evaluator.leaves if not _moves(evaluator, leaf))


def _moves(evaluator: Evaluator, leaf: InputLeaf) -> bool:
    """Say whether any result changes when an input does, by a little."""
    array = evaluator.array(leaf)
    for share in NUDGES:
        try:
            moved = evaluator.forward(evaluator.replaced(leaf, frozen(array * (1 + share) + share)))
        except Exception:  # user code: the point left the domain
            return True
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(evaluator.outputs, moved)):
            return True
    return False


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
