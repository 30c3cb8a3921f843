"""The runtime's own ways to run an op directory's op, dynamic and static mode, in the form of the parity check.

The checker compares them with the kernels run alone; nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opkit import eager, ops
from opkit.checker import Arrays, Attrs, Gradients, Results
from opkit.eager import Tensor, wrap
from opkit.ir import Program, Variable
from opkit.listed import listed
from opkit.ops.core.types import Function
from opkit.project.user_op import UserOp
from opkit.static import Executor, Scope, build_in, gradients
from opkit.static.parameters import data

Runner = Callable[[Arrays, Attrs, Results], tuple[Sequence[np.ndarray], Gradients]]


def runners_of(op: UserOp) -> dict[str, Runner]:
    """Return the ways in which the runtime runs an op."""
    return {"dynamic": partial(_dynamic, op), "static": partial(_static, op)}


def _dynamic(op: UserOp, arrays: Arrays, attrs: Attrs, douts: Results) -> tuple[list[np.ndarray], Gradients]:
    """Apply an op to Tensors and walk back from its outputs."""

    def made(name: str, array: np.ndarray) -> Tensor:
        return wrap(array, stop_gradient=array.dtype.kind != "f")

    names, values = _applied(op, arrays, attrs, douts, made, partial(eager.grad, allow_unused=True))
    return _sorted(arrays, names, [None if item is None else item._data for item in values])


def _static(op: UserOp, arrays: Arrays, attrs: Attrs, douts: Results) -> tuple[list[np.ndarray], Gradients]:
    """Put an op and its gradient into a Program of their own and run it."""
    feed: dict[str, np.ndarray] = {}

    def made(name: str, array: np.ndarray) -> Variable:
        variable = data(name, array.shape, array.dtype.name)
        variable.stop_gradient = array.dtype.kind != "f"
        feed[variable.name] = array
        return variable

    program = Program()
    with build_in(program):
        names, values = _applied(op, arrays, attrs, douts, made, gradients)
        wanted = [variable for variable in values if variable is not None]
        run = iter(Executor().run(program, feed=feed, fetch_list=wanted, scope=Scope()))
    return _sorted(arrays, names, [None if item is None else next(run) for item in values])


def _applied(
    op: UserOp, arrays: Arrays, attrs: Attrs, douts: Results, made: Function, walk: Function
) -> tuple[list[str], list[Any]]:
    """Return the inputs of which there are gradients, once for each float; and an op's outputs, then these gradients.

    Args:
        op: the op.
        arrays: its inputs.
        attrs: its attributes.
        douts: an incoming gradient per output.
        made: (name, array) -> a value of the mode.
        walk: (outputs, inputs, incoming gradients) -> gradients.
    """
    given = {
        name: [made(f"{name}_{index}", item) for index, item in enumerate(listed(value))]
        for name, value in arrays.items()
        if value is not None
    }
    bound = op.bind(given, dict(attrs))
    outputs = listed(ops.apply(bound.opdef, bound.inputs, bound.attrs))
    if op.grad is None:
        return [], outputs
    leaves = [(name, item) for name, items in given.items() for item in items if not item.stop_gradient]
    places = [index for index, item in enumerate(outputs) if not item.stop_gradient]
    seeds = [made(f"d_output_{index}", np.asarray(douts[index])) for index in places]
    found = walk([outputs[index] for index in places], [item for _, item in leaves], seeds)
    return [name for name, _ in leaves], [*outputs, *found]


def _sorted(arrays: Arrays, names: Sequence[str], values: Sequence[Any]) -> tuple[list[Any], Gradients]:
    """Return an op's results, and its gradients by input."""
    count = len(values) - len(names)
    found: dict[str, list[Any]] = {}
    for name, value in zip(names, values[count:]):
        found.setdefault(name, []).append(value)
    return list(values[:count]), {
        name: items if isinstance(arrays[name], (list, tuple)) else items[0] for name, items in found.items()
    }
