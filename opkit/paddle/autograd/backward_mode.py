"""``paddle.autograd.backward`` and ``paddle.grad``: their argument order, over ``opkit.eager``'s functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit import eager
from opkit.eager import Tensor
from opkit.errors import ShapeError, UsageError
from opkit.ops.core.mode import local
from opkit.shim.missing import guard as _guard

__all__ = ["backward", "grad"]


class TensorListError(UsageError, TypeError, AssertionError):
    """A list of Tensors was expected (Paddle raises AssertionError)."""


def _tensors(items: Any, what: str, *, with_none: bool = False) -> list[Any]:
    found = list(items) if isinstance(items, (list, tuple, set)) else [items]
    if not found:
        raise TensorListError(f"{what}: the list of tensors is empty")
    for item in found:
        if not isinstance(item, Tensor) and not (with_none and item is None):
            raise TensorListError(f"{what} must be a Tensor or a list of Tensors, got {type(item).__name__}")
    return found


def _seeds(items: Any, roots: Sequence[Tensor], what: str) -> list[Tensor | None] | None:
    if items is None:
        return None
    seeds = _tensors(items, what, with_none=True)
    if len(seeds) != len(roots):
        raise TensorListError(f"{what}: got {len(seeds)} gradients for {len(roots)} tensors")
    for index, (seed, root) in enumerate(zip(seeds, roots)):
        if seed is not None and seed._data.shape != root._data.shape:
            raise ShapeError(f"{what}: gradient {index} has shape {seed.shape}, its tensor has {root.shape}")
    return seeds


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """Add the gradients of all leaves that the tensors depend on to their ``grad``.

    Args:
        tensors: one Tensor or a list, no Tensor twice.
        grad_tensors: one gradient per tensor, None for ones.
        retain_graph: keep the graph for another walk.
    """
    roots = _tensors(tensors, "backward: tensors")
    if len({id(root) for root in roots}) != len(roots):
        raise TensorListError("backward: a tensor is in the list twice")
    eager.run_backward(roots, _seeds(grad_tensors, roots, "backward: grad_tensors"), retain_graph=retain_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Return the gradients of outputs with respect to inputs; no ``grad`` is written.

    Args:
        outputs: one Tensor or a list.
        inputs: one Tensor or a list, leaves or not.
        grad_outputs: one gradient per output, None for ones.
        retain_graph: accepted; the graph is kept in any case, as in Paddle 2.6.
        create_graph: let the result be differentiated again.
        only_inputs: must be True.
        allow_unused: an input that the outputs do not depend on gives None instead of an error.
        no_grad_vars: Tensors through which no gradient passes.
    """
    if local.mode.is_static:
        raise UsageError("paddle.grad works in dynamic mode only", help="use paddle.static.gradients")
    if not only_inputs:
        raise UsageError("grad: only_inputs=False is not supported")
    roots = _tensors(outputs, "grad: outputs")
    targets = _tensors(inputs, "grad: inputs")
    return eager.grad(
        roots,
        targets,
        _seeds(grad_outputs, roots, "grad: grad_outputs"),
        create_graph=create_graph,
        allow_unused=allow_unused,
        blocked=() if no_grad_vars is None else _tensors(no_grad_vars, "grad: no_grad_vars"),
    )


__getattr__ = _guard(globals())
