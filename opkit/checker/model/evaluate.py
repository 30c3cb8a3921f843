"""Evaluator: one case of one op, run in the ways that the checks need.

Runs and flattens; it never compares and never decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.copies import is_same_option
from opkit.checker.model.numbers import largest, place_of, resolution_of, typical, widened
from opkit.checker.model.thresholds import MAGNITUDES, REPEAT_ULPS
from opkit.checker.model.types import ArrayMap, Gradients, Pullback, Ran, Results
from opkit.ir import Shape
from opkit.listed import each
from opkit.record import record


@record
class InputLeaf:
    """One array among the inputs: an input's name, and its index where the input is variadic, or what it is called."""

    name: str
    index: int | None = None
    part: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.name + self.part if self.part or self.index is None else f"{self.name}[{self.index}]"


def input_of(leaf: str) -> str:
    """Return the name of the input that a leaf, as reports call it, is among."""
    return re.sub(r"\W.*", "", leaf)


_leaf = lru_cache(maxsize=1024)(InputLeaf)


def is_float(value: Any) -> bool:
    """Return whether a value is a real floating-point array."""
    return isinstance(value, (ndarray, np.generic)) and value.dtype.kind == "f"


def frozen(array: ndarray) -> ndarray:
    """Return a read-only view."""
    view: ndarray = np.asarray(array).view()  # arithmetic on 0-d arrays gives scalars
    view.setflags(False)  # type: ignore[call-arg]  # as a keyword it takes twice as long, by flags ten times
    return view


def leaves_of(inputs: Mapping[str, Any]) -> Iterator[tuple[InputLeaf, ndarray]]:
    """Yield every array among the inputs, in order."""
    for name, value in inputs.items():
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                yield _leaf(name, index), item
        elif isinstance(value, ndarray):
            yield _leaf(name), value


def array_at(inputs: Mapping[str, Any], leaf: InputLeaf) -> ndarray:
    """Return a leaf's array among inputs."""
    found: ndarray = inputs[leaf.name] if leaf.index is None else inputs[leaf.name][leaf.index]
    return found


def called_leaves(checkable: Checkable, inputs: Mapping[str, Any]) -> Iterator[tuple[InputLeaf, ndarray]]:
    """Yield every array among the inputs of an op, with what reports call it."""
    parts = {(arg.name, index): part for arg in checkable.inputs for index, part in enumerate(arg.parts)}
    for leaf, array in leaves_of(inputs):
        part = parts.get((leaf.name, leaf.index or 0), "")
        yield (replace(leaf, part=part) if part else leaf), array


def mapped(inputs: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return inputs with each changed by a function, and each part of a list."""
    return {name: each(change, value) for name, value in inputs.items()}


def rounding_shift(run: Callable[[dict[str, Any]], Iterable[Any]], inputs: Mapping[str, Any]) -> float:
    """Return by how much of their size results move where each float goes to its next number.

    Infinity where that raises, or where a result becomes finite or no longer is.

    Floats go up and down in no pattern of rows or columns: the results of a singular matrix follow rounding alone.
    """

    def moved(value: Any) -> Any:
        if not is_float(value):
            return value
        towards = np.resize(np.array([1, -1, -1, 1, -1], value.dtype) * np.inf, np.shape(value))
        return frozen(np.nextafter(value, towards))

    try:
        with np.errstate(all="ignore"):
            before = copies(run(dict(inputs)))
            after = copies(run(mapped(inputs, moved)))
    except Exception:  # user code
        return np.inf
    pairs = [(one, other) for one, other in zip(before, after) if one is not None and other is not None]
    floats = [(one, other) for one, other in pairs if is_float(one)]
    if any(not np.array_equal(np.isfinite(one), np.isfinite(other)) for one, other in floats):
        return np.inf
    return max((largest(one - other) / (largest(one) or 1.0) for one, other in floats), default=0.0)


def snapshot(outputs: Sequence[Any]) -> list[ndarray]:
    """Return copies of results, which later calls cannot change."""
    return [np.array(item, copy=True) for item in outputs]


def copies(gradients: Iterable[Any]) -> list[ndarray | None]:
    """Return copies of gradients, which later calls cannot change; what is missing is None."""
    return [None if item is None else np.array(item, copy=True) for item in gradients]


def flat(gradients: Mapping[InputLeaf, Any]) -> dict[InputLeaf, ndarray]:
    """Return flat copies of the gradients that are there: one may be the incoming one, or change with the next call."""
    return {leaf: np.array(value).reshape(-1) for leaf, value in gradients.items() if value is not None}


@lru_cache(maxsize=32)
def _weights(count: int) -> ndarray:
    signs = (-1.0) ** np.arange(count)
    return frozen((signs * np.linspace(*MAGNITUDES, count)).astype(np.float32).astype(np.float64))


class Evaluator:
    """Runs one case; numpy's warnings are left to the caller (``np.errstate``).

    Args:
        checkable: the op.
        case: its inputs are passed as read-only views.

    Attributes:
        outputs: forward's results (copies).
        foreign: the class of a result that was not an array, None where all were.
        slots: indices of the outputs that a gradient may come from.
        leaves: the float inputs whose gradient is checked.
        entries: how many elements the differentiable outputs have.
        typical: magnitude that the largest of the op's results usually has, 0 where that is not known.
        usual: that any one of them has.
        resolution: relative noise that the results were measured to have beyond their dtype's, 0 where there is none.
        known: gradients that backward gave, by the bytes of the incoming one.
    """

    def __init__(self, checkable: Checkable, case: Case) -> None:
        self.checkable = checkable
        self.case = case
        self.attrs = dict(case.attrs)
        self.inputs: dict[str, Any] = self.map_inputs(frozen)
        self.outputs: list[ndarray] = []
        self.foreign: type | None = None
        self.slots: list[int] = []
        self.leaves: list[InputLeaf] = []
        self.sizes: list[int] = []
        self.entries = 0
        self.typical = self.usual = 0.0
        self.resolution = 0.0
        self.known: dict[bytes, dict[InputLeaf, ndarray]] = {}

    def map_inputs(self, change: ArrayMap) -> dict[str, Any]:
        """Return the case's inputs with every array changed by a function."""
        return mapped(self.case.inputs, lambda value: change(value) if isinstance(value, ndarray) else value)

    def prepare(self) -> Evaluator:
        """Run forward once and note which outputs and inputs take part in differentiation.

        Raises:
            Exception: what the kernel raised.
        """
        given = self.forward(self.inputs)
        self.foreign = next((type(item) for item in given if not isinstance(item, (ndarray, np.generic))), None)
        self.outputs = snapshot(given)
        hidden = self.checkable.nondifferentiable_outputs
        names = [arg.name for arg in self.checkable.outputs]
        self.slots = [
            index
            for index, item in enumerate(self.outputs)
            if is_float(item) and (index >= len(names) or names[index] not in hidden)
        ]
        self.sizes = [self.outputs[index].size for index in self.slots]
        self.entries = sum(self.sizes)
        bound = self.checkable.bound(self.inputs, self.attrs)
        self.leaves = [
            leaf
            for leaf, item in called_leaves(self.checkable, self.inputs)
            if is_float(item) and (bound is None or leaf.name in bound)
        ]
        return self

    @property
    def needs(self) -> frozenset[str]:
        """The inputs whose gradient is checked."""
        return frozenset([leaf.name for leaf in self.leaves])

    def is_set_like(self, other: Evaluator) -> bool:
        """Return whether another case has the same attributes; arrays among them are compared by content."""
        return self.attrs.keys() == other.attrs.keys() and all(
            is_same_option(value, other.attrs[name]) for name, value in self.attrs.items()
        )

    # --- running
    def forward(self, inputs: Mapping[str, Any]) -> Results:
        """Run the op itself and return its raw results."""
        return self.checkable.forward(inputs, self.attrs)

    def reference(self, inputs: Mapping[str, Any]) -> Results:
        """Run the function whose derivative backward is: forward, or its declared surrogate."""
        function = self.checkable.surrogate or self.checkable.forward
        return function(inputs, self.attrs)

    def movable(
        self, leaves: Sequence[InputLeaf], of_forward: bool = False
    ) -> tuple[list[ndarray], Callable[[], Results]]:
        """Return arrays that hold what these leaves do, and the reference as a function of what they hold at a call.

        Results that it returned before may change with the next call. With ``of_forward`` the function is forward
        itself, and the arrays are float64 at least.
        """
        least = np.float64 if of_forward else np.bool_
        given = [self.array(leaf) for leaf in leaves]
        arrays = [np.array(one, np.result_type(one.dtype, least), order="C", copy=True) for one in given]
        inputs: dict[str, Any] = dict(self.inputs)
        for leaf, array in zip(leaves, arrays):
            inputs = self.replaced(leaf, frozen(array), inputs)
        return arrays, partial(self.forward if of_forward else self.reference, inputs)

    def run(self, inputs: Mapping[str, Any] | None = None) -> Ran:
        """Run forward and return its raw results and the pullback."""
        return self.checkable.run(self.inputs if inputs is None else inputs, self.attrs)

    def gradients(
        self, douts: Results, pullback: Pullback | None = None, inputs: Mapping[str, Any] | None = None
    ) -> dict[InputLeaf, ndarray | None]:
        """Run backward (after a fresh forward unless a pullback is given) and return a gradient per leaf."""
        needs = self.needs
        if pullback is None:
            _, pullback = self.run(inputs)
        return self.by_leaf(pullback([frozen(item) for item in douts], needs))

    def pulled(
        self, douts: Results, pullback: Pullback | None = None, inputs: Mapping[str, Any] | None = None
    ) -> list[ndarray | None]:
        """Return copies of the gradients in the order of the leaves."""
        return copies(self.gradients(douts, pullback, inputs).values())

    def by_leaf(self, found: Gradients) -> dict[InputLeaf, ndarray | None]:
        """Sort gradients by leaf; what is missing is None."""
        result: dict[InputLeaf, ndarray | None] = {}
        for leaf in self.leaves:
            value = found.get(leaf.name)
            if leaf.index is not None:
                value = value[leaf.index] if isinstance(value, (list, tuple)) and leaf.index < len(value) else None
            result[leaf] = value  # type: ignore[assignment]
        return result

    # --- arrays in and out
    def array(self, leaf: InputLeaf) -> ndarray:
        """Return a leaf's array."""
        return array_at(self.inputs, leaf)

    def replaced(self, leaf: InputLeaf, array: ndarray, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the inputs with one leaf's array replaced."""
        changed = dict(self.inputs if inputs is None else inputs)
        if leaf.index is None:
            changed[leaf.name] = array
        else:
            items = list(changed[leaf.name])
            items[leaf.index] = array
            changed[leaf.name] = items
        return changed

    def vector(self, outputs: Sequence[Any]) -> ndarray:
        """Flatten the differentiable outputs into one float64 vector."""
        parts = [widened(outputs[index]).ravel() for index in self.slots]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.zeros(0)

    def value_at(self, inputs: Mapping[str, Any]) -> ndarray:
        """The reference's value as a vector, all NaN where it raises or changes its shapes."""
        return self.value_of(lambda: self.reference(inputs))

    def value_of(self, call: Callable[[], Results]) -> ndarray:
        """A call's results as a vector, all NaN where it raises or changes their shapes."""
        try:
            found = self.vector(call())
        except Exception:  # a raise leaves the domain: no value there
            return np.full(self.entries, np.nan)
        return found if found.size == self.entries else np.full(self.entries, np.nan)

    def douts_from(self, vector: ndarray) -> list[ndarray]:
        """Split a vector into one incoming gradient per output, in the outputs' dtypes; zeros for the others."""
        douts = [np.zeros(item.shape, item.dtype) for item in self.outputs]
        start = 0
        for index, size in zip(self.slots, self.sizes):
            shape, dtype = self.outputs[index].shape, self.outputs[index].dtype
            douts[index] = vector[start : start + size].reshape(shape).astype(dtype)
            start += size
        return douts

    def drawn(self, rng: Generator, most: float) -> list[ndarray]:
        """Return random incoming gradients up to a size."""
        return self.douts_from(rng.uniform(-most, most, self.entries))

    def weights(self) -> ndarray:
        """Return an incoming gradient (J,) of which no entries are alike, in float32's digits."""
        return _weights(self.entries)

    def uneven(self) -> list[ndarray]:
        """Return incoming gradients that all differ: ones say nothing where results sum to 1."""
        return self.douts_from(self.weights())

    def eps(self) -> ndarray:
        """The resolution of every entry of the vector."""
        parts = [
            np.full(size, max(resolution_of(self.outputs[index]), self.resolution))
            for index, size in zip(self.slots, self.sizes)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def slack(self) -> float:
        """The relative error that gradients may have because the case was seen in a narrower dtype alone."""
        return REPEAT_ULPS * float(np.finfo(self.case.precision).eps) if self.case.precision else 0.0

    def natural(self) -> float:
        """Return the size that gradients should have: results over arguments.

        A gradient far below it comes from cancellation, and its rounding is that of the larger terms.
        """
        results = [largest(self.outputs[index]) for index in self.slots]
        return max([*results, self.typical]) / self._smallest()

    def others(self, leaf: InputLeaf) -> float:
        """Return the product of the magnitudes above 1 of the two largest inputs beside one, 0 where it is alone."""
        sizes = sorted((largest(self.array(one)) for one in self.leaves if one != leaf), reverse=True)
        return math.prod(max(size, 1.0) for size in sizes[:2]) if sizes else 0.0

    def spread(self) -> float:
        """Return the largest argument over the typical size of the smallest."""
        return max((largest(self.array(leaf)) for leaf in self.leaves), default=0.0) / self._smallest()

    def _smallest(self) -> float:
        """Return the typical size of the smallest argument, 1 where all are 0."""
        sizes = [typical(self.array(leaf)) for leaf in self.leaves]
        return min((size for size in sizes if size > 0), default=1.0)

    def locate(self, entry: int) -> tuple[int, Shape]:
        """Return (output index, element index) of an entry of the vector."""
        for index, size in zip(self.slots, self.sizes):
            if entry < size:
                shape = self.outputs[index].shape
                return index, place_of(entry, shape)
            entry -= size
        raise IndexError(entry)


def narrows(checkable: Checkable, case: Case) -> bool:
    """Return whether forward or backward makes float32 of a case of float64, or raises on it."""
    ev = Evaluator(checkable, case)
    try:
        ev.prepare()
        found = ev.gradients([np.ones(item.shape, item.dtype) for item in ev.outputs]) if ev.leaves else {}
    except Exception:  # user code: what it raises is reported on the case as it was
        return True
    return any(value is not None and value.dtype == np.float32 for value in (*ev.outputs, *found.values()))
