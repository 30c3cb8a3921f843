"""Ordinary call: how an op is called in a process that looks like an ordinary run, as that process is told.

Nothing is called here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.blind.call import Form, Kind, Leaf, Manner, Origin, Taken, filled
from opkit.checker import Checkable, Results
from opkit.checker.model.evaluate import Evaluator, copies, leaves_of, snapshot
from opkit.record import record
from opkit.verify.subjects.parameters import Parameters, leaves_in, nested


@record
class Ordinary:
    """Where an op is found, and how it is called.

    Args:
        origin: where.
        parameters: of the function; None for an op of an op directory, whose inputs go by name.
    """

    origin: Origin
    parameters: Parameters | None = None


def found_at(
    made: Checkable, kind: Kind, path: str, name: str, parameters: Parameters | None = None, kernel: str = "python"
) -> Checkable:
    """Return a checkable that says where an ordinary process finds it."""
    return replace(made, ordinary=Ordinary(Origin(kind, os.path.abspath(path), name, kernel, sys.path[0]), parameters))


def form_of(ordinary: Ordinary | None, ev: Evaluator) -> Form:
    """Return the arguments of a case's calls; by name where a copy of this process makes them."""
    numbers = {leaf: Leaf(number, leaf in ev.leaves) for number, (leaf, _) in enumerate(leaves_of(ev.inputs))}
    inputs = {name: value for name, value in ev.inputs.items() if value is not None} | nested(numbers)
    leaves = tuple(numbers.values())
    if ordinary is None:
        return Form((), inputs, ev.attrs, leaves)
    if ordinary.parameters is None:
        by_name = {name: value if isinstance(value, list) else [value] for name, value in inputs.items()}
        return Form((), by_name, ev.attrs, leaves)
    return _of_function(ordinary.parameters, {**ev.attrs, **_nothing(ev, ordinary.parameters), **inputs}, leaves)


def _nothing(ev: Evaluator, parameters: Parameters) -> dict[str, None]:
    """Return the inputs that are left out and must be said to be."""
    return {name: None for name, value in ev.inputs.items() if value is None and name not in parameters.defaults}


def _of_function(parameters: Parameters, values: dict[str, Any], leaves: tuple[Leaf, ...]) -> Form:
    """Return arguments in the order of a call: gaps among those by position are filled with defaults."""
    args, rest = parameters.filled(values)
    names = parameters.positional[: len(args)]
    spare = 0
    while spare < len(args) == len(names) and parameters.is_default(names[-1 - spare], args[-1 - spare]):
        spare += 1
    return Form(tuple(args), rest, {}, leaves, spare)


class CopiedPlayer:
    """A checkable of this process, called in a copy of it that has compared nothing.

    Its functions are called from here, not by ``Checkable.run``: a function may look for the checker's frames.

    Args:
        checkable: as its target made it.
    """

    def __init__(self, checkable: Checkable) -> None:
        self._forward, self._backward, self._vjp = checkable.forward, checkable.backward, checkable.vjp
        self._names = [arg.name for arg in checkable.inputs]

    def made(self, leaf: Leaf, array: np.ndarray) -> np.ndarray:
        """Return an array of its own."""
        return np.array(array)

    def fill(self, held: np.ndarray, array: np.ndarray) -> np.ndarray:
        """Fill it again."""
        held[...] = array
        return held

    def play(self, form: Form, held: Sequence[Any], douts: Results, manner: Manner) -> Taken:
        """Call forward and backward."""
        arrays = filled(dict(form.kwargs), held)
        arrays = {name: arrays.get(name) for name in self._names} | arrays
        given = [(place, leaf) for place, leaf in leaves_in(form.kwargs) if isinstance(leaf, Leaf)]
        places = [place for place, leaf in given if form.leaves[leaf.number].takes_gradient]
        needs = frozenset(place.name for place in places)
        found: Mapping[str, Any] = {}
        if self._vjp is not None:
            outputs, pullback = self._vjp(arrays, form.attrs)
            found = pullback(douts, needs) if places and len(douts) else {}
        else:
            outputs = self._forward(arrays, form.attrs)
            if self._backward is not None and places and len(douts):
                found = self._backward(arrays, outputs, douts, form.attrs, needs)
        return Taken(snapshot(outputs), copies(map(dict(leaves_in(found)).get, places)))
