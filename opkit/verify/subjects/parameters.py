"""Parameters: what a function takes (a PyLayer's forward, or any other), and its calls by name and back.

Reads signatures only; nothing is applied. Leaves are the single values among arguments, with their places in lists.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.checker.model.evaluate import InputLeaf
from opkit.ops.core.types import Function
from opkit.record import record

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@record
class Parameters:
    """The parameters of a function; of a PyLayer's forward without ctx.

    Args:
        positional: names in order.
        starred: name of ``*args``, "" without.
        named: names of keyword-only parameters.
        takes_any: whether there is a ``**kwargs``.
        defaults: {name: default} of those that have one.
        tuples: those that get a list of arrays as a tuple.
        annotations: {name: annotation}, as it is written.
        trees: {(name, how many arrays): what puts them back into the tree that the function takes}.
    """

    positional: tuple[str, ...]
    starred: str = ""
    named: tuple[str, ...] = ()
    takes_any: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    tuples: frozenset[str] = frozenset()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    trees: Mapping[tuple[str, int], Function] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in the order of a call."""
        return (*self.positional, *([self.starred] if self.starred else ()), *self.named)

    def shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by name as the function is to see them: tuples and trees of arrays, lists until then."""
        shown = dict(values)
        for (name, count), planted in self.trees.items():
            if isinstance(values.get(name), list) and len(values[name]) == count:
                shown[name] = planted(values[name])
        for name in self.tuples:
            if isinstance(shown.get(name), list):
                shown[name] = tuple(shown[name])
        return shown

    def filled(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments for values by name; gaps among the former take their defaults."""
        rest = self.shown(values)
        args: list[Any] = []
        gap: list[Any] = []
        for name in self.positional:
            if name in rest:
                args += [*gap, rest.pop(name)]
                gap = []
            elif name in self.defaults:
                gap.append(self.defaults[name])
            else:
                break  # what is missing is said by whoever is called
        args.extend(rest.pop(self.starred, None) or ())
        return args, rest

    def is_default(self, name: str, value: Any) -> bool:
        """Return whether a value is a parameter's default, or a plain one equal to it."""
        if name not in self.defaults:
            return False
        default = self.defaults[name]
        is_plain = isinstance(default, (bool, int, float, str)) and type(value) is type(default)
        return value is default or bool(is_plain and value == default)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name: the reverse of ``filled``."""
        named = dict(zip(self.positional, args))
        if self.starred and len(args) > len(self.positional):
            named[self.starred] = list(args[len(self.positional) :])
        return {**named, **kwargs}


def parameters_of(layer: type) -> Parameters:
    """Return the parameters of a PyLayer's forward."""
    every = list(inspect.signature(layer.forward).parameters.values())  # type: ignore[attr-defined]
    return sorted_parameters(every[1:] if every and every[0].kind in _POSITIONAL else every)


def parameters_in(function: Function) -> Parameters:
    """Return the parameters of a function; of one without a signature, as many positional ones as it says it takes.

    Raises:
        ValueError: nothing says what the function takes.
    """
    try:
        return sorted_parameters(list(inspect.signature(function).parameters.values()))
    except (TypeError, ValueError):
        count = getattr(function, "nin", None)  # numpy's ufuncs
        if not isinstance(count, int):
            raise ValueError(f"{function!r} does not say what it takes") from None
        return Parameters(tuple("xyzuvw"[:count]))


def sorted_parameters(every: Sequence[inspect.Parameter]) -> Parameters:
    """Return parameters as a signature has them."""
    kinds: dict[Any, list[str]] = {}
    for item in every:
        kinds.setdefault(item.kind, []).append(item.name)
    return Parameters(
        tuple(item.name for item in every if item.kind in _POSITIONAL),
        "".join(kinds.get(inspect.Parameter.VAR_POSITIONAL, [])),
        tuple(kinds.get(inspect.Parameter.KEYWORD_ONLY, [])),
        inspect.Parameter.VAR_KEYWORD in kinds,
        {item.name: item.default for item in every if item.default is not item.empty},
        annotations={item.name: item.annotation for item in every},
    )


def numbered(stem: str, count: int, taken: Iterable[str]) -> list[str]:
    """Return names for several things of a kind, none of those taken; one alone has no number."""
    names = [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]
    return names if set(names).isdisjoint(taken) else numbered(f"{stem}_out", count, taken)


def results_of(stem: str, taken: Collection[str]) -> list[str]:
    """Return what results may be called: one alone, and the first of several, which have numbers."""
    return [*numbered(stem, 1, taken), *numbered(stem, 2, taken)]


def names_taken(function: Function, count: int) -> list[str]:
    """Return names for so many arguments of a function by position: its parameters' own where it says them."""
    try:
        known = parameters_in(function).positional
    except ValueError:
        known = ()
    return [known[index] if index < len(known) else f"x{index}" for index in range(count)]


def leaves_in(values: Mapping[str, Any]) -> Iterator[tuple[InputLeaf, Any]]:
    """Yield each value by name, and each of a list, with its place; what is left out has none."""
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield from ((InputLeaf(name, index), item) for index, item in enumerate(value))
        elif value is not None:
            yield InputLeaf(name), value


def nested(found: Mapping[InputLeaf, Any]) -> dict[str, Any]:
    """Return values by name, those of a list as a list: the reverse of ``leaves_in``."""
    values: dict[str, Any] = {}
    for leaf, item in found.items():
        values[leaf.name] = item if leaf.index is None else [*values.get(leaf.name, ()), item]
    return values
