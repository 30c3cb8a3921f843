"""The runtime's own ways to run an op directory's op, dynamic and static mode, in the form of the parity check.

The checker compares them with the kernels run alone; nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit import eager, ops
from opkit.checker import Arrays, Attrs, Results
from opkit.eager import Tensor, wrap
from opkit.ir import Program, Variable
from opkit.listed import listed
from opkit.project.user_op import UserOp
from opkit.static import Executor, Scope, build_in, gradients
from opkit.static.parameters import data

Runner = Callable[[Mapping[str, Any], Mapping[str, Any], Results], tuple[list[np.ndarray], Mapping[str, Any]]]


def runners_of(op: UserOp) -> dict[str, Runner]:
    """Return the ways in which the runtime runs an op."""
    return {"dynamic": eager_runner(op), "static": static_runner(op)}


def eager_runner(op: UserOp) -> Runner:
    """Return a function that applies an op to Tensors and walks back from its outputs."""

    def run(arrays: Arrays, attrs: Attrs, douts: Results) -> tuple[list[np.ndarray], Mapping[str, Any]]:
        tensors = {name: _tensors(value) for name, value in arrays.items() if value is not None}
        bound = op.bind(tensors, dict(attrs))
        result = ops.apply(bound.opdef, bound.inputs, bound.attrs)
        outputs = listed(result)
        found = _gradients(tensors, outputs, douts) if op.grad is not None else {}
        return [tensor._data for tensor in outputs], {
            name: found[name] if isinstance(arrays[name], (list, tuple)) else found[name][0] for name in found
        }

    return run


def _tensors(value: Any) -> list[Tensor]:
    return [wrap(item, stop_gradient=item.dtype.kind != "f") for item in listed(value)]


def _gradients(tensors: Mapping[str, list[Tensor]], outputs: Sequence[Tensor], douts: Results) -> dict[str, list[Any]]:
    leaves = [(name, tensor) for name, items in tensors.items() for tensor in items if not tensor.stop_gradient]
    places = [index for index, tensor in enumerate(outputs) if not tensor.stop_gradient]
    values = eager.grad(
        [outputs[index] for index in places],
        [tensor for _, tensor in leaves],
        [wrap(np.asarray(douts[index])) for index in places],
        allow_unused=True,
    )
    found: dict[str, list[Any]] = {}
    for (name, _), value in zip(leaves, values):
        found.setdefault(name, []).append(None if value is None else value._data)
    return found


def static_runner(op: UserOp) -> Runner:
    """Return a function that puts an op and its gradient into a Program of their own and runs it."""

    def run(arrays: Arrays, attrs: Attrs, douts: Results) -> tuple[list[np.ndarray], Mapping[str, Any]]:
        feed: dict[str, np.ndarray] = {}
        program = Program()
        with build_in(program):
            fed = {name: _variables(name, value, feed) for name, value in arrays.items() if value is not None}
            bound = op.bind(fed, dict(attrs))
            result = ops.apply(bound.opdef, bound.inputs, bound.attrs)
            outputs = listed(result)
            found = _appended(fed, outputs, douts, feed) if op.grad is not None else {}
            wanted = [variable for items in found.values() for variable in items if variable is not None]
            values = iter(Executor().run(program, feed=feed, fetch_list=[*outputs, *wanted], scope=Scope()))
        results = [next(values) for _ in outputs]
        named = {name: [None if item is None else next(values) for item in items] for name, items in found.items()}
        return results, {
            name: items if isinstance(arrays[name], (list, tuple)) else items[0] for name, items in named.items()
        }

    return run


def _variables(name: str, value: Any, feed: dict[str, np.ndarray]) -> list[Variable]:
    variables: list[Variable] = []
    for index, item in enumerate(listed(value)):
        variable = data(f"{name}_{index}", item.shape, item.dtype.name)
        variable.stop_gradient = item.dtype.kind != "f"
        feed[variable.name] = item
        variables.append(variable)
    return variables


def _appended(
    fed: Mapping[str, list[Variable]],
    outputs: Sequence[Variable],
    douts: Results,
    feed: dict[str, np.ndarray],
) -> dict[str, list[Variable | None]]:
    """Append the gradient; return a Variable per float input."""
    places = [index for index, variable in enumerate(outputs) if not variable.stop_gradient]
    leaves = [(name, item) for name, items in fed.items() for item in items if not item.stop_gradient]
    seeds = [seed for index in places for seed in _variables(f"d_output_{index}", np.asarray(douts[index]), feed)]
    values = gradients([outputs[index] for index in places], [item for _, item in leaves], seeds)
    found: dict[str, list[Variable | None]] = {}
    for (name, _), value in zip(leaves, values):
        found.setdefault(name, []).append(value)
    return found
