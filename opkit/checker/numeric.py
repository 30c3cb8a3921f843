"""Numeric: gradient checking of plain numpy functions, without a spec or a directory.

Makes a Checkable of two functions and runs the same checks; no numbers are computed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.engine import check
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Arg, Checkable
from opkit.checker.model.evaluate import is_float
from opkit.checker.model.options import Options
from opkit.checker.model.report import OpReport
from opkit.checker.model.types import Arrays, Attrs, Function, Gradients
from opkit.checker.search.constants import constants_of
from opkit.errors import Location, UsageError
from opkit.listed import listed


def check_functions(
    forward: Function,
    backward: Function,
    inputs: Sequence[Any],
    *,
    name: str | None = None,
    options: Options | None = None,
) -> OpReport:
    """Check that ``backward`` is the gradient of ``forward`` at the given inputs.

    Args:
        forward: ``forward(*inputs)`` returns an array or a tuple of arrays.
        backward: ``backward(*inputs, *douts)`` or ``backward(*inputs, *outputs, *douts)``, distinguished by how many
            positional parameters it has; returns one gradient per float input (None for others), or one array.
        inputs: arrays; float ones are differentiated. A list of tuples gives several cases.
        name: for the report; the function's own by default.
        options: settings.

    Raises:
        UsageError: no float input, or the functions' parameters do not fit.

    Example:
        >>> report = check_functions(np.tanh, lambda x, dy: dy / np.cosh(x) ** 2, [np.linspace(-1, 1, 5)])
        >>> report.status.value
        'pass'
    """
    return check(checkable_of(forward, backward, inputs, name=name), options)


def checkable_of(forward: Function, backward: Function, inputs: Sequence[Any], *, name: str | None = None) -> Checkable:
    """Make a Checkable of two functions and the inputs to check them at; see check_functions."""
    sets = [tuple(item) for item in inputs] if inputs and isinstance(inputs[0], (tuple, list)) else [tuple(inputs)]
    sets = [tuple(np.asarray(item) for item in one) for one in sets]
    count = len(sets[0])
    if not any(is_float(item) for one in sets for item in one):
        raise UsageError("no float input to differentiate", help="give numpy arrays of a float dtype")
    if any(len(one) != count for one in sets):
        raise UsageError("the sets of inputs have different numbers of arrays")
    names = _names(forward, count)
    with np.errstate(all="ignore"):
        results = listed(forward(*sets[0]))
    takes_outputs = _takes_outputs(backward, count, len(results))
    floats = frozenset(label for label, item in zip(names, sets[0]) if is_float(item))

    def run_forward(arrays: Arrays, attrs: Attrs) -> list[Any]:
        found = forward(*[arrays[label] for label in names])
        return [found] if type(found) is ndarray else listed(found)

    def run_backward(
        arrays: Arrays, outputs: Sequence[Any], douts: Sequence[Any], attrs: Attrs, needs: frozenset[str]
    ) -> Gradients:
        given = [arrays[label] for label in names]
        result = backward(*given, *outputs, *douts) if takes_outputs else backward(*given, *douts)
        if count == 1 and type(result) is ndarray:
            return {names[0]: result}
        found = listed(result)
        targets = list(names) if len(found) == count else [label for label in names if label in floats]
        if len(found) != len(targets):
            raise UsageError(f"backward returned {len(found)} gradients for {count} inputs")
        return dict(zip(targets, found))

    return Checkable(
        name or str(getattr(forward, "__name__", "forward")),
        tuple(Arg(label) for label in names),
        tuple(Arg("out" if len(results) == 1 else f"out{index}") for index in range(len(results))),
        run_forward,
        run_backward,
        recorded=tuple(
            Case(dict(zip(names, one)), {}, "user", 0, "user", f"inputs {number}") for number, one in enumerate(sets)
        ),
        gradients=floats,
        constants=constants_of([forward, backward]),
        forward_where=_where(forward),
        backward_where=_where(backward),
    )


def _names(forward: Function, count: int) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):  # a ufunc or another builtin has none
        parameters = []
    plain = [item.name for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    return tuple(plain[:count]) if len(plain) >= count else tuple(f"x{index}" for index in range(count))


def _takes_outputs(backward: Function, inputs: int, outputs: int) -> bool:
    """Return whether backward wants forward's results between its inputs and the incoming gradients."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(backward).parameters
    except (TypeError, ValueError):
        return False
    plain = [item for item in parameters.values() if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    if any(item.kind is item.VAR_POSITIONAL for item in parameters.values()):
        return False
    required = sum(1 for item in plain if item.default is item.empty)
    if required <= inputs + outputs <= len(plain):
        return False
    if required <= inputs + 2 * outputs <= len(plain):
        return True
    raise UsageError(
        f"backward takes {len(plain)} arguments; {inputs + outputs} (inputs, incoming gradients) or "
        f"{inputs + 2 * outputs} (inputs, results, incoming gradients) were expected"
    )


def _where(function: Function) -> Location | None:
    code = getattr(function, "__code__", None)
    return None if code is None else Location(code.co_filename, code.co_firstlineno, 0, code.co_name)
