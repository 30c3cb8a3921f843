"""A checkable from a py_func: its two functions on the arrays that a run gave them, on cases, and near these.

The graph that they stood in takes no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attrs, Case, Checkable, Results
from opkit.checker.model.evaluate import leaves_of
from opkit.errors import KernelError, UsageError
from opkit.listed import listed
from opkit.static.py_func import PyFuncDef
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.neighbours import near
from opkit.verify.subjects.parameters import names_taken, numbered
from opkit.verify.subjects.source_location import location_of


def checkable_of_py_func(
    opdef: PyFuncDef,
    recorded: Sequence[Results],
    needed: frozenset[int],
    name: str,
    declared: Declared | None = None,
    others: Sequence[PyFuncDef] = (),
) -> Checkable:
    """Make a checkable of the functions of one ``py_func`` call.

    Args:
        opdef: the op; it has a backward function.
        recorded: inputs that the run gave it.
        needed: the inputs for which the program has a gradient: None for one of them is an error, as it is when the
            program runs. Where it has none at all, what backward gives is checked, and is undecided where it is wrong.
        name: what the report calls it.
        declared: exceptions that the file declares, and cases to check besides.
        others: further calls with the same functions, which may have other shapes.

    Source: Paddle 2.6, py_func's gradient, which takes None for an input only where nothing needs its gradient.
    """
    declared = declared or Declared()
    count, outputs = len(opdef.inputs), len(opdef.outputs)
    names = names_taken(opdef.function, count)
    calls = _Calls(opdef, others, names, outputs)
    cases = tuple(
        Case(dict(zip(names, arrays)), {}, "recorded", origin="recorded", label="seen in the run")
        for arrays in recorded
    )
    floats = [i for i in range(count) if any(arrays[i].dtype.kind == "f" for arrays in recorded)]
    wanted = needed or calls.given(cases)
    functions = [opdef.function, opdef.backward_func]
    made_of = [item for item in (opdef, *others) if item.asked] or [opdef]
    stopped = set.intersection(*(item.stopped for item in made_of))
    results = numbered("out", outputs)
    made = Checkable(
        name=name,
        inputs=tuple(map(Arg, names)),
        outputs=tuple(map(Arg, results)),
        forward=calls.forward,
        backward=calls.backward,
        cases=None if declared.cases is None else _drawn(declared.cases, names),
        recorded=cases,
        is_beyond=not needed,
        gradients=frozenset(names[i] for i in floats if i in wanted),
        nondifferentiable_outputs=declared.nondifferentiable_outputs | {results[index] for index in stopped},
        tolerance=declared.tolerance,
        allow=declared.allow,
        forward_where=location_of(opdef.function),
        backward_where=location_of(opdef.backward_func),
        cases_where=declared.cases_where,
    )
    if declared.cases is not None:
        return made
    made = near(made, [item for item in functions if item is not None])
    assert made.beyond is not None
    return replace(made, beyond=replace(made.beyond, forward=calls.as_declared))


def _drawn(
    cases: Callable[[np.random.Generator], Iterable[Any]], names: Sequence[str]
) -> Callable[[np.random.Generator], Iterator[Any]]:
    """Return a cases function whose cases go by name; one in order is a tuple or a list."""

    def drawn(rng: np.random.Generator) -> Iterator[Any]:
        for case in cases(rng):
            yield dict(zip(names, case)) if isinstance(case, (tuple, list)) else case

    return drawn


def _fits(own: tuple[int, ...], declared: tuple[int, ...]) -> bool:
    return len(own) == len(declared) and all(want in (-1, size) for want, size in zip(declared, own))


class _Calls:
    """Calls the functions as the static runtime does, and leaves their results as they are."""

    def __init__(self, opdef: PyFuncDef, others: Sequence[PyFuncDef], names: Sequence[str], outputs: int) -> None:
        self._opdef = opdef
        self._shapes = {item.shapes for item in (opdef, *others) if item.shapes}
        self._names = names
        self._outputs = outputs

    def forward(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Run the function; see ``opkit.checker.Forward``."""
        result = self._opdef.function(*(arrays[name] for name in self._names))
        items = listed(result)
        if len(items) != self._outputs:
            raise KernelError(
                f"the function returned {len(items)} values, py_func was given {self._outputs} outputs",
                where=location_of(self._opdef.function),
            )
        return [self._array(item, f"output {index}") for index, item in enumerate(items)]

    def as_declared(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Run the function on shapes that the program allows; others lie outside its domain."""
        own = [array.shape for _, array in leaves_of(arrays)]
        if self._shapes and not any(all(map(_fits, own, shapes)) for shapes in self._shapes):
            raise UsageError(f"the program declares other shapes than {own}")
        return self.forward(arrays, attrs)

    def backward(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> Mapping[str, Any]:
        """Run the backward function; see ``opkit.checker.Backward``."""
        passed = [*(arrays[name] for name in self._names), *outputs]
        kept = [item for index, item in enumerate(passed) if index not in self._opdef.skipped]
        backward = self._opdef.backward_func
        if backward is None:
            raise KernelError("this py_func has no backward_func", where=location_of(self._opdef.function))
        result = backward(*kept, *douts)
        items = listed(result)
        if len(items) != len(self._names):
            raise KernelError(
                f"backward_func returned {len(items)} gradients, py_func has {len(self._names)} inputs",
                where=location_of(backward),
            )
        return {
            name: None if item is None else self._array(item, f"the gradient of {name}")
            for name, item in zip(self._names, items)
            if name in needs
        }

    def _array(self, value: Any, what: str) -> np.ndarray:
        if isinstance(value, np.ndarray):
            return value
        array = np.asarray(getattr(value, "_data", value))
        if value is None or array.dtype.kind not in "biufc":
            raise KernelError(f"{what} is not an array of numbers but {type(value).__name__}")
        return array

    def given(self, cases: Sequence[Case]) -> frozenset[int]:
        """Return the inputs for which backward gives a gradient; all where it raises (the checks report that)."""
        every = frozenset(range(len(self._names)))
        try:
            arrays = cases[0].inputs
            outputs = self.forward(arrays, {})
            found = self.backward(arrays, outputs, [np.ones_like(item) for item in outputs], {}, frozenset(self._names))
        except Exception:
            return every
        return frozenset(index for index, name in enumerate(self._names) if found.get(name) is not None)
