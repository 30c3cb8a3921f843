"""A checkable from a py_func: its two functions on the arrays that a run gave them, on cases, and near these.

The graph that they stood in takes no part. A part of a graph with a gradient of its own is made a py_func: each set of
shapes has a program of its own, in which both its functions build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Case, Checkable, Forward, Results
from opkit.checker.model.evaluate import leaves_of
from opkit.errors import KernelError, UsageError
from opkit.ir import Program, Variable
from opkit.listed import listed
from opkit.ops.core.types import Function
from opkit.static import (
    Executor,
    ForeignVariableError,
    Scope,
    disable_static,
    enable_static,
    gradients,
    in_static_mode,
    program_guard,
)
from opkit.static.own_gradient import OwnGradientDef, with_own_gradient
from opkit.static.parameters import data
from opkit.static.py_func import PyFuncDef
from opkit.verify.isolation.announced_calls import Looks
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.from_cases import of_examples, silent_in
from opkit.verify.subjects.functions import FunctionsRunner
from opkit.verify.subjects.parameters import Parameters, names_taken
from opkit.verify.subjects.recording import Traits
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Signature, Subject


def reads_around(part: PyFuncDef, arrays: Sequence[np.ndarray]) -> bool:
    """Return whether a part's functions use Variables of the program around it, so that it cannot run alone."""
    try:
        part.function(*arrays)
    except ForeignVariableError:
        return True
    except Exception:  # user code: the checks report what it raises
        return False
    return False


@cache
def as_py_func(part: OwnGradientDef) -> PyFuncDef:
    """Return a part as a py_func whose functions run it alone."""
    count, executor = len(part.inputs) - len(part.outputs), Executor()

    @cache
    def built(given: tuple[tuple[Any, ...], ...]) -> tuple[Program, list[Variable], list[Variable | None]]:
        program = Program()
        with program_guard(program, Program()):
            fed = [data(f"x{index}", shape, dtype) for index, (shape, dtype) in enumerate(given)]
            for item in fed:
                item.stop_gradient = np.dtype(item.dtype).kind != "f"
            made = with_own_gradient(part.forward, part.backward, fed, part.name)
            seeds = [data(f"dy{index}", item.shape, item.dtype) for index, item in enumerate(made)]
            found = gradients(made, fed, seeds)
        return program, made, found

    def run(arrays: tuple[np.ndarray, ...], is_gradient: bool) -> list[Any]:
        was_static = in_static_mode()
        enable_static()
        try:
            program, made, found = built(tuple((array.shape, array.dtype.name) for array in arrays[:count]))
            names = [f"x{index}" for index in range(count)] + [f"dy{index}" for index in range(len(arrays) - count)]
            wanted = found if is_gradient else made
            fetches = [item for item in wanted if item is not None]
            results = iter(executor.run(program, dict(zip(names, arrays)), fetches, Scope()))
            return [None if item is None else next(results) for item in wanted]
        finally:
            if not was_static:
                disable_static()

    @wraps(part.forward)
    def forward(*arrays: np.ndarray) -> list[Any]:
        return run(arrays, False)

    @wraps(part.backward)
    def backward(*arrays: np.ndarray) -> list[Any]:
        return run((*arrays[:count], *arrays[count + len(part.outputs) :]), True)

    return PyFuncDef(
        name=part.name,
        inputs=part.inputs[:count],
        outputs=part.outputs,
        kernel=forward,
        infer=part.infer,
        function=forward,
        backward_func=backward,
        asked=set(range(count)),
    )


def checkable_of_py_func(
    opdefs: Sequence[PyFuncDef], recorded: Sequence[Results], name: str, declared: Declared
) -> Checkable:
    """Make a checkable of the functions of ``py_func`` calls.

    Args:
        opdefs: the ops of all calls with the same functions, a backward function among them; shapes may differ. None
            for an input of which the program has a gradient is an error, as it is when the program runs. Where it has
            none at all, what backward gives is checked, and is undecided where it is wrong.
        recorded: inputs that the run gave them.
        name: what the report calls it.
        declared: exceptions that the file declares, and cases to check besides.

    Source: Paddle 2.6, py_func's gradient, which takes None for an input only where nothing needs its gradient.
    """
    opdef = opdefs[0]
    assert opdef.backward_func is not None
    names = names_taken(opdef.function, len(opdef.inputs))
    needed = frozenset(index for item in opdefs for index in item.asked)
    made_of = [item for item in opdefs if item.asked] or [opdef]
    stopped = set.intersection(*(item.stopped for item in made_of))

    subject = Subject(
        name=name,
        parameters=Parameters(tuple(names)),
        runs=lambda signature: PyFuncRunner(opdef.function, signature, opdef, stopped),
        plain=lambda value: value,
        functions=(opdef.function, opdef.backward_func),
        forward_where=location_of(opdef.function),
        backward_where=location_of(opdef.backward_func),
    )
    calls = [dict(zip(names, arrays)) for arrays in recorded]
    if needed:
        constants = frozenset(item for index, item in enumerate(names) if index not in needed)
    else:
        constants = silent_in(subject.make(frozenset(names), frozenset()), Looks(), Case(calls[0], {}))
    made = of_examples(subject, declared, name, cases=declared.cases, calls=calls, traits=Traits(constants))
    misfits = [item.misfit for item in opdefs if item.misfit]
    made = replace(made, is_beyond=not needed, remarks=(*made.remarks, *misfits))
    shapes = {item.shapes for item in opdefs if item.shapes}
    if made.beyond is None or not shapes:
        return made
    return replace(made, beyond=replace(made.beyond, forward=_on_declared(made.forward, shapes)))


def _on_declared(forward: Forward, declared: set[Any]) -> Forward:
    """Return a function on shapes that the program allows; others lie outside its domain."""

    def run(arrays: Arrays, attrs: Attrs) -> Results:
        own = [array.shape for _, array in leaves_of(arrays)]
        if not any(all(map(_fits, own, shapes)) for shapes in declared):
            raise UsageError(f"the program declares other shapes than {own}")
        return forward(arrays, attrs)

    return run


def _fits(own: tuple[int, ...], declared: tuple[int, ...]) -> bool:
    return len(own) == len(declared) and all(want in (-1, size) for want, size in zip(declared, own))


class PyFuncRunner(FunctionsRunner):
    """Calls the functions as the static runtime does, and leaves their results as they are.

    Args:
        function: forward, or what is declared in its place.
        signature: of it.
        opdef: the op.
        stopped: the outputs that take no part in differentiation.
    """

    result, gives_none = "out", False

    def __init__(self, function: Function, signature: Signature, opdef: PyFuncDef, stopped: set[int]) -> None:
        assert opdef.backward_func is not None
        super().__init__(function, opdef.backward_func, signature)
        self._opdef, self._stopped = opdef, stopped

    def like(self, function: Function, signature: Signature) -> PyFuncRunner:
        """Return a runner of another function, with the same backward."""
        return PyFuncRunner(function, signature, self._opdef, self._stopped)

    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run the function; see ``opkit.checker.Forward``."""
        items = super().forward(arrays, attrs)
        if len(items) != len(self._opdef.outputs):
            raise KernelError(
                f"the function returned {len(items)} values, py_func was given {len(self._opdef.outputs)} outputs",
                where=location_of(self.call),
            )
        return [_array(item, f"output {index}") for index, item in enumerate(items)]

    def backward(
        self, arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]
    ) -> Mapping[str, Any]:
        """Run the backward function; see ``opkit.checker.Backward``."""
        names, backward = self.parameters.names, self._opdef.backward_func
        passed = [*(arrays[name] for name in names), *outputs]
        kept = [item for index, item in enumerate(passed) if index not in self._opdef.skipped]
        assert backward is not None
        items = listed(backward(*kept, *douts))
        if len(items) != len(names):
            raise KernelError(
                f"backward_func returned {len(items)} gradients, py_func has {len(names)} inputs",
                where=location_of(backward),
            )
        return {
            name: None if item is None else _array(item, f"the gradient of {name}")
            for name, item in zip(names, items)
            if name in needs
        }

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say of each output whether no call of the program has a gradient of it."""
        return [index in self._stopped for index in range(len(self._opdef.outputs))]


def _array(value: Any, what: str) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(getattr(value, "_data", value))
    if value is None or array.dtype.kind not in "biufc":
        raise KernelError(f"{what} is not an array of numbers but {type(value).__name__}")
    return array
