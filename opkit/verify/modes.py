"""The runtime's own ways to run an op directory's op, dynamic and static mode, in the form of the parity check.

The checker compares them with the kernels run alone; nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit import eager, ops
from opkit.eager import Tensor, wrap
from opkit.project.user_op import UserOp

__all__ = ["eager_runner", "runners_of"]

Runner = Callable[
    [Mapping[str, Any], Mapping[str, Any], Sequence[np.ndarray]], tuple[list[np.ndarray], Mapping[str, Any]]
]


def runners_of(op: UserOp) -> dict[str, Runner]:
    """Return the ways in which the runtime runs an op."""
    return {"dynamic": eager_runner(op)}


def eager_runner(op: UserOp) -> Runner:
    """Return a function that applies an op to Tensors and walks back from its outputs."""

    def run(
        arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], Mapping[str, Any]]:
        tensors = {name: _tensors(value) for name, value in arrays.items() if value is not None}
        bound = op.bind(tensors, dict(attrs))
        result = ops.apply(bound.opdef, bound.inputs, bound.attrs)
        outputs = list(result) if isinstance(result, tuple) else [result]
        found = _gradients(tensors, outputs, douts) if op.grad is not None else {}
        return [tensor._data for tensor in outputs], {
            name: found[name] if isinstance(arrays[name], (list, tuple)) else found[name][0] for name in found
        }

    return run


def _tensors(value: Any) -> list[Tensor]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return [wrap(item, stop_gradient=item.dtype.kind != "f") for item in items]


def _gradients(
    tensors: Mapping[str, list[Tensor]], outputs: Sequence[Tensor], douts: Sequence[np.ndarray]
) -> dict[str, list[Any]]:
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
