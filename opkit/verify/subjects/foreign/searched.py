"""Searched: the checkable of a subject whose inputs are to be searched, by readings of its parameters.

Which cases there are of a reading is the checker's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable, Options, constants_of, first_case
from opkit.checker.model.evaluate import leaves_of
from opkit.errors import UsageError
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.foreign.domain import Domain
from opkit.verify.subjects.foreign.making import finished, frame
from opkit.verify.subjects.foreign.subject import ForeignRunner, Subject
from opkit.verify.subjects.guess import Guess, guesses

#: Options that take one of a few words everywhere; those that forward refuses are left out.
_CHOICES: dict[str, tuple[Any, ...]] = {"reduction": ("mean", "sum", "none"), "reduce": ("mean", "sum", "none")}


class UntakenError(UsageError):
    """A function took nothing that was tried."""


def searched(subject: Subject, declared: Declared, label: str, options: Options) -> Checkable:
    """Make a checkable of a subject whose inputs are to be searched.

    Args:
        subject: what to check.
        declared: exceptions that the file declares.
        label: what the report calls it.
        options: seed, and shapes given by hand.

    Raises:
        UntakenError: it took nothing that was tried.
    """
    error: Exception | None = None
    readings = [guess for guess in _readings(subject) if guess.inputs]
    for guess in readings:
        taken, raised = _taken(subject, guess, declared, label, options)
        error = error or raised
        if taken is None:
            continue
        for other in readings:
            if set(guess.inputs) < set(other.inputs) and _adds_numbers(subject, guess, other):
                wider, _ = _taken(subject, other, declared, label, options)
                if wider is not None and _answers(wider, set(other.inputs) - set(guess.inputs)):
                    taken = wider
                    break
        return finished(taken.made, subject, taken.runner, taken.case)
    raise UntakenError(_nothing_taken(subject, error), where=subject.forward_where)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A reading of the parameters with a case that forward takes."""

    made: Checkable
    runner: ForeignRunner
    case: Case


def _taken(
    subject: Subject, guess: Guess, declared: Declared, label: str, options: Options
) -> tuple[_Taken | None, Exception | None]:
    """Return a reading that forward takes, or what it raised first."""
    runner = subject.make(frozenset(guess.inputs), frozenset())
    made = _guessed(subject, runner, guess, declared, label)
    error: Exception | None = None
    for dtype in ("float64", "float32"):
        domain = Domain(runner, made.default_attrs)
        for one in (replace(made, forward=domain.forward, starts_in=dtype), replace(made, starts_in=dtype)):
            if one.forward == made.forward and not domain.has_refused:
                continue
            with np.errstate(all="ignore"):
                case = first_case(one, options)
            if case is not None and (one.forward == made.forward or _is_telling(case)):
                return _Taken(one, runner, case), None
        error = error or domain.first_error
        if not domain.speaks_of_dtypes:
            break
    return None, error


def _adds_numbers(subject: Subject, guess: Guess, other: Guess) -> bool:
    """Say whether another reading takes as arrays what this one takes as numbers for want of a default."""
    added = set(other.inputs) - set(guess.inputs)
    return all(
        type(guess.options.get(name)) is float
        and name not in subject.parameters.defaults
        and subject.annotations.get(name) not in (float, "float")
        for name in added
    )


def _answers(taken: _Taken, names: set[str]) -> bool:
    """Say whether backward gives a gradient for each of these inputs."""
    try:
        return not names & taken.runner.silent_inputs(taken.case.inputs, taken.case.attrs)
    except Exception:  # user code: it takes no arrays there
        return False


def _nothing_taken(subject: Subject, error: Exception | None) -> str:
    names = ", ".join(subject.parameters.names)
    first = "" if error is None else f", first {type(error).__name__}: {error}"
    return (
        f"there are no cases for {subject.name}, and forward raised on all arguments that were tried{first}; define "
        f"cases_{subject.name}(rng) in the file, which yields dicts of {names}; or give --shape NAME=3,4; or check a "
        "script that calls it"
    )


def _is_telling(case: Case) -> bool:
    """Say whether a case has an array of several elements; a backward that runs on no such case is wrong."""
    return any(array.size > 1 for _, array in leaves_of(case.inputs))


def _guessed(subject: Subject, runner: ForeignRunner, guess: Guess, declared: Declared, label: str) -> Checkable:
    return replace(
        frame(subject, runner, declared, label),
        inputs=tuple(Arg(name, name in guess.optional, _is_list(subject, name)) for name in guess.inputs),
        attrs=tuple(Attr(name, "any", value, _choices(name)) for name, value in guess.options.items()),
        constants=constants_of(subject.functions),
        sources=subject.sources,
    )


def _readings(subject: Subject) -> Iterator[Guess]:
    """Yield readings of the parameters: the declared one, or guesses."""
    parameters = subject.parameters
    if subject.inputs is None:
        yield from guesses(parameters, dict(subject.annotations))
        return
    options = {**parameters.defaults, **subject.usual}
    options = {name: options.get(name) for name in parameters.names if name not in subject.inputs}
    yield Guess(subject.inputs, subject.optional, options)
    if subject.optional:
        required = tuple(name for name in subject.inputs if name not in subject.optional)
        yield Guess(required, frozenset(), {**options, **dict.fromkeys(subject.optional)})


def _choices(name: str) -> tuple[Any, ...]:
    """Return values that an option of this name usually takes."""
    return next((values for word, values in _CHOICES.items() if word in name.lower().split("_")), ())


def _is_list(subject: Subject, name: str) -> bool:
    return name == subject.parameters.starred or name in subject.lists
