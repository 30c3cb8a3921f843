"""Two plain functions as an op to check: what tests of single checks need, without the search that a pair begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opkit.checker import Arg, Attrs, Case, Checkable, OpReport, Options, check, constants_of
from opkit.errors import Location
from opkit.listed import listed


def checkable_of(forward: Callable[..., Any], backward: Callable[..., Any], inputs: Sequence[Any], *, name: str | None = None) -> Checkable:
    """Return an op of ``forward(*inputs)`` and ``backward(*inputs, [*outputs,] *douts)``; a list of tuples gives several cases."""
    sets = [tuple(map(np.asarray, one)) for one in (inputs if isinstance(inputs[0], (tuple, list)) else [inputs])]
    count = len(sets[0])
    names = _parameters(forward)[:count]
    names = names if len(names) == count else [f"x{index}" for index in range(count)]
    with np.errstate(all="ignore"):
        results = len(listed(forward(*sets[0])))
    takes_outputs = len(_parameters(backward)) >= count + 2 * results
    floats = [label for label, item in zip(names, sets[0]) if item.dtype.kind == "f"]

    def run_backward(arrays: Any, outputs: Any, douts: Any, attrs: Attrs, needs: frozenset[str]) -> dict[str, Any]:
        given = [arrays[label] for label in names]
        found = listed(backward(*given, *(outputs if takes_outputs else ()), *douts))
        return dict(zip(names if len(found) == count else floats, found))

    return Checkable(
        name or getattr(forward, "__name__", "forward"),
        tuple(map(Arg, names)),
        tuple(Arg("out" if results == 1 else f"out{index}") for index in range(results)),
        lambda arrays, attrs: listed(forward(*(arrays[label] for label in names))),
        run_backward,
        recorded=tuple(Case(dict(zip(names, one)), {}, "user", 0, "user", f"inputs {number}") for number, one in enumerate(sets)),
        gradients=frozenset(floats),
        constants=constants_of([forward, backward]),
        forward_where=_where(forward),
        backward_where=_where(backward),
    )


def check_functions(forward: Callable[..., Any], backward: Callable[..., Any], inputs: Sequence[Any], *, name: str | None = None, options: Options | None = None) -> OpReport:
    """Check that ``backward`` is the gradient of ``forward`` at the given inputs."""
    return check(checkable_of(forward, backward, inputs, name=name), options)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a ufunc has none
        return []
    return [item.name for item in found if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]


def _where(function: Callable[..., Any]) -> Location | None:
    code = getattr(function, "__code__", None)
    return None if code is None else Location(code.co_filename, code.co_firstlineno, 0, code.co_name)
