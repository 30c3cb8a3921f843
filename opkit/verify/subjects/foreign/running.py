"""Running: what the runners of other frameworks' functions have in common.

How a framework makes values of its own, and how it differentiates, is its own runner's business.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.agreement import agree
from opkit.checker.model.evaluate import InputLeaf, leaves_of
from opkit.checker.model.numbers import place_of
from opkit.checker.model.own import Fault
from opkit.checker.model.reference import InFormat
from opkit.checker.model.types import Computed
from opkit.ops.core.types import Function
from opkit.verify.subjects.parameters import nested
from opkit.verify.subjects.references import taken_by
from opkit.verify.subjects.subject import Signature, SubjectRunner


class ForeignRunner(SubjectRunner):
    """Runs a function of another framework, in any format that this has."""

    @abstractmethod
    def run_in(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function in a format; see ``opkit.checker.model.reference.InFormat``."""

    @property
    def in_format(self) -> InFormat:
        """The function itself in any format."""
        return self.run_in

    def called(self, values: Mapping[str, Any]) -> Any:
        """Call the function with arguments by name; an input that is left out takes its default."""
        defaults = self.parameters.defaults
        given = {
            name: value
            for name, value in values.items()
            if value is not None or name not in self.inputs or name not in defaults
        }
        if not self.complex_inputs:
            return super().called(given)
        assert self.subject.complex_maps is not None
        turn, parts = self.subject.complex_maps
        return parts(super().called(given | {name: turn(given[name]) for name in self.complex_inputs & given.keys()}))

    def reference(self, function: Function) -> InFormat:
        """Return a declared function, which takes the same arguments or some of them by name, in any format."""
        own = taken_by(function, self.parameters)
        if own is None:
            return self.like(function, self.signature).run_in
        names = own.names
        other = self.like(function, Signature(own, self.inputs.intersection(names), self.constants))

        def run(arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
            chosen = {name: value for name, value in attrs.items() if name in names}
            return other.run_in(arrays, chosen, douts, format)

        return run

    @abstractmethod
    def like(self, function: Function, signature: Signature) -> ForeignRunner:
        """Return a runner of another function, which takes its inputs as this one does."""


def angles(shape: Sequence[int]) -> np.ndarray:
    """Return e**(i t) with a t of its own at each place of an array, for z = (x + i x**2 / hypot(x, 1)) e**(i t).

    These are curves through 0: along lines through 0 a wrong slope of the phase would not be seen.
    """
    found: np.ndarray = np.exp(1j * (0.7 + 1.3 * np.arange(np.prod(shape, dtype=int)))).reshape(shape)
    return found


def by_name(arrays: Arrays, found: Mapping[InputLeaf, np.ndarray | None], needs: frozenset[str]) -> dict[str, Any]:
    """Return gradients by input; zeros where the framework gives none for an array that takes one."""
    made: dict[InputLeaf, np.ndarray] = {}
    for leaf, array in leaves_of(arrays):
        given = found.get(leaf)
        if leaf.name in needs and (leaf.index is not None or leaf in found):
            made[leaf] = np.zeros_like(array) if given is None else given
    return nested(made)


def raised(what: str, error: Exception, *, is_certain: bool = True) -> Fault:
    """Return what a function of the user's raised as a fault."""
    line = str(error).strip().partition("\n")[0]
    return Fault(f"{what}: {type(error).__name__}: {line}", is_certain=is_certain)


def differing(
    expected: Mapping[InputLeaf, np.ndarray | None], actual: Mapping[InputLeaf, np.ndarray | None], what: str
) -> Iterator[Fault]:
    """Yield a fault that names all gradients that are not as expected; None counts as zeros."""
    other = [leaf for leaf, one in expected.items() if not agree(one, actual.get(leaf))]
    if other:
        is_nan = any(item is not None and np.isnan(item).any() for item in map(actual.get, other))
        told = (f"{leaf} ({_apart(actual.get(leaf), expected[leaf])})" for leaf in other)
        said = f"the gradient of {' and of '.join(told)} {what}"
        yield Fault(said, input=other[0].name, actual=np.nan if is_nan else None)


def _apart(got: np.ndarray | None, wanted: np.ndarray | None) -> str:
    """Say where a gradient is furthest from the one expected: "2 at [0, 1], not 1"; none counts as zeros."""
    some = wanted if got is None else got
    assert some is not None
    one, other = (np.zeros_like(some) if item is None else item for item in (got, wanted))
    if one.shape != other.shape:
        return f"of shape {list(one.shape)}, not {list(other.shape)}"
    place = place_of(np.argmax(np.nan_to_num(np.abs(one - other), nan=np.inf)), one.shape)
    given = "none" if got is None else f"{one[place]:.4g}"
    return f"{given} at {list(place)}, not {other[place]:.4g}"
