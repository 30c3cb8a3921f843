"""A part of a graph with a gradient of its own, as two functions of arrays, as a py_func has them.

Each set of shapes has a program of its own, in which both functions build; what the checks ask is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

from opkit.ir import Program, Variable
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
