"""Readings: the ways in which a function's parameters may be arrays, lists of arrays or options, where no case says so.

Signatures, annotations and what the source compares options with; names decide nothing. A trial shows which reading
fits, and an error that none does; what is tried is the search's business.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from traceback import walk_tb
from typing import Any

from opkit.checker import compared_in
from opkit.errors import Location, UsageError
from opkit.record import record
from opkit.verify.subjects.annotated import dimensions_in
from opkit.verify.subjects.subject import Subject

#: Values for an option of which nothing is known, tried one after the other, and by the type that it is annotated with.
_ANY: tuple[Any, ...] = (0.5, 2, -1, 1, 0, True, 3, "mean", (2, 2))
_OF_TYPE: dict[str, tuple[Any, ...]] = {
    "int": (2, 1, -1, 0, 3),
    "float": (0.5, 2.0, 1e-5),
    "bool": (True, False),
    "str": ("mean", "sum"),
}
#: Settings that are tried where several parameters are options.
_MOST_SETTINGS = 40


@record
class Reading:
    """One way to read a signature.

    Args:
        inputs: parameters that take arrays, in order.
        options: {other parameter: value}.
        optional: those of the inputs that may be left out: None is their default.
        lists: those of the inputs that take a list of arrays.
    """

    inputs: tuple[str, ...]
    options: Mapping[str, Any]
    optional: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


@record
class _Signature:
    """What is known of a subject's parameters before anything is called."""

    subject: Subject
    compared: Mapping[str, tuple[Any, ...]]

    def is_plain(self, name: str) -> bool:
        """Return whether a parameter is declared to take no arrays."""
        return name in self.subject.static or bool(self.plain_type(name))

    def pool(self, name: str) -> tuple[Any, ...]:
        """Return values for a parameter read as an option: what the source compares it with first."""
        known = tuple(value for value in self.compared.get(name, ()) if value is not None)
        return (*known, *_OF_TYPE.get(self.plain_type(name), _ANY))

    def plain_type(self, name: str) -> str:
        """Return the plain type that a parameter is annotated with, "" for none."""
        annotation = self.subject.parameters.annotations.get(name, inspect.Parameter.empty)
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        return text if text in _OF_TYPE else ""

    def reading(
        self,
        arrays: Sequence[str],
        options: Mapping[str, Any],
        optional: frozenset[str] = frozenset(),
        lists: frozenset[str] = frozenset(),
    ) -> Reading:
        """Return a reading with the defaults of what it does not name."""
        parameters = self.subject.parameters
        inputs = tuple(name for name in parameters.names if name in arrays or name in optional)
        rest = {name: value for name, value in parameters.defaults.items() if name not in inputs}
        return Reading(inputs, {**rest, **options}, optional, lists.intersection(inputs))

    def settings(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield values of several parameters read as options: the same place of every pool first, then mixtures."""
        pools = [self.pool(name) for name in names]
        longest = max(map(len, pools), default=1)
        alike = [tuple(pool[min(place, len(pool) - 1)] for pool in pools) for place in range(longest)]
        every = (*alike, *islice(product(*pools), _MOST_SETTINGS))
        yield from (dict(zip(names, values)) for values in {repr(values): values for values in every}.values())


def readings(subject: Subject) -> Iterator[Reading]:
    """Yield readings of a subject's parameters, those with the most arrays first.

    A plain type, or a declaration, makes an option; the user's functions say what they compare options with.
    """
    known = _Signature(subject, compared_in(subject.functions))
    return _found(known) if subject.inputs is None else _declared(known, subject.inputs)


def _found(known: _Signature) -> Iterator[Reading]:
    """Yield readings of a function of which nothing says what its parameters are."""
    parameters = known.subject.parameters
    required = [name for name in parameters.names if name not in parameters.defaults]
    open_ = [name for name in required if not known.is_plain(name)] or required[:1]
    plain = {name: known.pool(name)[0] for name in required if name not in open_}
    optional = frozenset(
        name for name, value in parameters.defaults.items() if value is None and not known.is_plain(name)
    )
    starred = frozenset({parameters.starred} & set(open_))
    yield known.reading(open_, plain, optional, starred)
    if optional:
        yield known.reading(open_, plain, lists=starred)
    for name in open_:
        if name not in starred:
            yield known.reading(open_, plain, lists=starred | {name})
    yield from _with_options(known, open_, plain, starred)


def _with_options(
    known: _Signature, open_: Sequence[str], plain: Mapping[str, Any], starred: frozenset[str]
) -> Iterator[Reading]:
    """Yield readings in which the last parameters are options, then any single one, then those with a type."""
    groups: list[list[str]] = [[]] if plain else []
    groups += [list(open_[place:]) for place in range(len(open_) - 1, 0, -1)]
    groups += [[name] for name in open_[:-1]]
    for group in groups:
        rest = [name for name in open_ if name not in group]
        for values in known.settings(group or list(plain)):
            yield known.reading(rest, {**plain, **values}, lists=starred)


def _declared(known: _Signature, inputs: Sequence[str]) -> Iterator[Reading]:
    """Yield readings of a function that says itself which of its parameters are arrays."""
    subject, parameters = known.subject, known.subject.parameters
    optional, usual = subject.optional, subject.usual
    told = {**parameters.defaults, **usual}
    names = [name for name in parameters.names if name not in inputs and name not in told]
    for chosen in (inputs, [name for name in inputs if name not in optional]) if optional else (inputs,):
        absent = dict.fromkeys(name for name in inputs if name not in chosen)
        for values in known.settings(names):
            options = {**usual, **absent, **values}
            yield known.reading(chosen, options, optional.intersection(chosen), subject.lists)


class UntakenError(UsageError):
    """A function took nothing that was tried.

    Attributes:
        said: why.
    """

    def __init__(self, subject: Subject, said: str, where: Location | None) -> None:
        super().__init__(_nothing_taken(subject, said), where=where)
        self.said = said


def raising(subject: Subject, error: Exception | None) -> str:
    """Return which of the user's functions raised while forward ran."""
    ran = [frame.f_code for frame, _ in walk_tb(error.__traceback__ if error else None)]
    return "setup_context" if getattr(subject.context, "__code__", None) in ran else "forward"


def _nothing_taken(subject: Subject, said: str) -> str:
    names = ", ".join(subject.parameters.names)
    if not names:
        return (
            f"{subject.name} takes nothing that could be differentiated: forward's first parameter is the context, ctx"
        )
    told = (
        f"there are no cases for {subject.name}, {subject.remark}"
        if subject.remark
        else f"there are no cases for {subject.name}"
    )
    is_shaped = dimensions_in(subject.parameters.annotations).axes.keys() >= {*subject.parameters.names}
    by_shape = "" if is_shaped else "or, for plain arrays, give --shape NAME=3,4; "
    return (
        f"{told}, and {said}; define cases_{subject.name}(rng) in the file, which yields dicts of {names}; "
        f"{by_shape}or check a script that calls it"
    )
