"""A checkable from a PyLayer without cases: its arguments are guessed, and forward says by trial what it takes.

The search itself is the checker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from types import FunctionType
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attr, Attrs, Case, Checkable, Options, constants_of
from opkit.checker.model.evaluate import Evaluator, frozen, is_float, leaves_of
from opkit.checker.search.described import said_constant
from opkit.checker.search.look import trouble_of
from opkit.checker.search.pipeline import first_cases
from opkit.eager.pylayer_faults import GradientCountError
from opkit.errors import UsageError
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.guess import (
    Guess,
    annotations_of,
    guesses,
    is_compared,
    is_constant,
    is_share,
    takes_gradient,
    walked_in,
)
from opkit.verify.subjects.neighbours import with_choices
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.runner import Runner
from opkit.verify.subjects.second import second_of

#: Seconds after which all readings of a signature are given up.
READING_SECONDS = 8.0
#: Cases on which it is seen whether a reading of a signature goes with what backward returns.
LOOKED_AT = 12
#: Shares by which an input is moved to see whether any result depends on it.
NUDGES = (1e-6, -1e-5)
#: Numbers for each item of a list of two, and of three.
_ONE_EACH = ([0.3, 0.7], [0.2, 0.3, 0.6])


class NothingTakenError(UsageError):
    """Forward took none of the arguments that were tried.

    Args:
        first: what it raised first, where it raised.
    """

    def __init__(self, first: Exception | None) -> None:
        said = "" if first is None else f", first {type(first).__name__}: {first}"
        super().__init__(f"forward raised on all arguments that were tried{said}")


class _Listening:
    """Forward as it is searched: keeps what it raises first."""

    def __init__(self) -> None:
        self.first: Exception | None = None

    def to(self, made: Checkable) -> Checkable:
        """Return a checkable that is listened to."""

        def forward(arrays: Arrays, attrs: Attrs) -> Sequence[np.ndarray]:
            try:
                return made.forward(arrays, attrs)
            except Exception as error:  # user code
                self.first = self.first or error
                raise

        return replace(made, forward=forward)


def searched_layer(layer: Any, declared: Declared, name: str, options: Options) -> Checkable:
    """Make a checkable of a PyLayer whose inputs are to be searched.

    Args:
        layer: the class.
        declared: exceptions that the file declares.
        name: what the report calls it.
        options: seed, and shapes given by hand.

    Returns:
        the checkable.

    Raises:
        NothingTakenError: forward took nothing that was tried.
    """
    listening = _Listening()
    parameters = parameters_of(layer)
    until = perf_counter() + READING_SECONDS
    first: Checkable | None = None
    is_short = False
    for guess in guesses(parameters, annotations_of(layer.forward), walked_in(layer.forward)):
        if not guess.inputs or (first is not None and not guess.is_likely and not (guess.numbers and is_short)):
            continue
        runner = Runner(layer, parameters, frozenset(guess.inputs), frozenset())
        made = _made(layer, runner, guess, parameters.starred, declared, name)
        with np.errstate(all="ignore"):
            cases = first_cases(listening.to(made), options, LOOKED_AT, give_up=until)
            if not cases:
                continue
            constants = _constants(made, runner, cases)
            if constants:
                runner = Runner(layer, parameters, frozenset(guess.inputs), constants)
                made = replace(
                    _made(layer, runner, guess, parameters.starred, declared, name),
                    gradients=frozenset(item for item in guess.inputs if item not in constants),
                    assumed_constants=frozenset(item for item in constants if not _is_sure(item, made, cases)),
                )
            troubles = [trouble_of(made, case) for case in cases]
        made = replace(made, second=_second(made, runner, cases[0]))
        fits = None in troubles
        if fits and first is None and _has_options(made, parameters.named, cases):
            first, is_short = made, True
            continue
        if fits or (first is None and not guess.is_likely):
            return made
        if first is None:
            first, is_short = made, any(_is_short(made, case) for case in cases)
    if first is None:
        raise NothingTakenError(listening.first)
    return first


def _has_options(made: Checkable, named: Sequence[str], cases: Sequence[Case]) -> bool:
    """Say whether inputs that only a keyword gives are options: backward never has a gradient for them."""
    given = [case for case in cases if any(case.inputs.get(name) is not None for name in named)]
    return bool(given) and all(_is_short(made, case) for case in given)


def _is_short(made: Checkable, case: Case) -> bool:
    """Say whether backward returns another number of gradients than forward has Tensors."""
    evaluator = Evaluator(made, case)
    try:
        evaluator.prepare()
        evaluator.gradients([np.ones(item.shape, item.dtype) for item in evaluator.outputs])
    except GradientCountError:
        return True
    except Exception:  # user code: this says nothing about their number
        return False
    return False


def _constants(made: Checkable, runner: Runner, cases: Sequence[Case]) -> frozenset[str]:
    """Return the inputs that count as constants: backward gives None for them, and nothing speaks against it.

    They are masks, lengths, targets and the like. None is a mistake for an input whose name says that it takes one.
    """
    for case in cases:
        silent = runner.silent(case.inputs, case.attrs)
        floats = frozenset(leaf.name for leaf, array in leaves_of(case.inputs) if is_float(array))
        if not silent & floats:
            continue
        open_ = {name for name in silent & floats if not _is_sure(name, made, [case])}
        return frozenset() if any(map(takes_gradient, open_)) else silent
    return frozenset()


def _is_sure(name: str, made: Checkable, cases: Sequence[Case]) -> bool:
    """Say whether an input's name, or that no result depends on it, says that it takes no gradient."""
    is_beside = is_compared(name) or is_share(name, [arg.name for arg in made.inputs])
    if is_constant(name) or said_constant(made.sources, name) or (is_beside and _is_loss(name, made, cases)):
        return True
    return not any(_moves(made, case, name) for case in cases)


def _is_loss(name: str, made: Checkable, cases: Sequence[Case]) -> bool:
    """Say whether forward returns one number, and an input is not its first."""
    if name == made.inputs[0].name:
        return False
    return all(np.ndim(item) == 0 for case in cases for item in made.forward(case.inputs, case.attrs))


def _moves(made: Checkable, case: Case, name: str) -> bool:
    """Say whether any result changes when an input does, by a little."""
    evaluator = Evaluator(made, case).prepare()
    for leaf in evaluator.leaves:
        if leaf.name != name:
            continue
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


def _others(layer: Any) -> list[Any]:
    """Return the functions of a class beside forward and backward."""
    return [
        getattr(layer, name)
        for name, item in vars(layer).items()
        if name not in ("forward", "backward") and _is_function(item)
    ]


def _is_function(item: Any) -> bool:
    return isinstance(item, (FunctionType, staticmethod, classmethod))


def _made(layer: Any, runner: Runner, guess: Guess, starred: str, declared: Declared, name: str) -> Checkable:
    made = Checkable(
        name=name,
        inputs=tuple(
            Arg(item, item in guess.optional, item == starred or item in guess.lists) for item in guess.inputs
        ),
        outputs=(Arg("y"),),
        forward=runner.forward,
        vjp=runner.vjp,
        attrs=tuple(Attr(item, "any", value) for item, value in guess.options.items()),
        constants=constants_of([layer.forward, layer.backward]),
        sources=(layer.forward, layer.backward, layer, *_others(layer)),
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        surrogate=None if declared.surrogate is None else runner.surrogate(declared.surrogate),
        tolerance=declared.tolerance,
        allow=declared.allow,
        asks_second=declared.second_order,
        forward_where=location_of(layer.forward),
        backward_where=location_of(layer.backward),
    )
    made = with_choices(made, [layer.forward, layer.backward])
    # Beside a list an option may hold one number for each of its items.
    lists = _ONE_EACH if starred or guess.lists else ()
    attrs = tuple(
        replace(attr, type="any", choices=(*attr.choices, *lists)) if attr.name in guess.numbers else attr
        for attr in made.attrs
    )
    remarks = [
        f"{item} was tried as a number: backward returns no gradient for it as a Tensor" for item in guess.numbers
    ]
    return replace(made, attrs=attrs, remarks=(*made.remarks, *remarks))
