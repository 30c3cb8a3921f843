"""``backward`` and ``grad`` of dynamic mode: the reverse walk over recorded nodes.

The walk itself is ``opkit.autograd``'s; here are seeds, leaves, hooks and the freeing of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from opkit.autograd import ready_order, reverse_walk
from opkit.eager.tensor import Tensor, wrap
from opkit.ops.mode import local
from opkit.ops.opdef import ArgDef, OpDef

__all__ = ["ACCUMULATE", "accumulate", "run_backward"]


def run_backward(
    roots: Sequence[Tensor], seeds: Sequence[Tensor], *, retain_graph: bool = False, create_graph: bool = False
) -> None:
    """Walk back from the roots and add the gradients of all leaves to their ``grad``.

    Args:
        roots: Tensors of any shape that take a gradient.
        seeds: one cotangent per root, of its shape.
        retain_graph: keep the graph for another walk.
        create_graph: record the walk itself, for higher derivatives.
    """
    cotangents: dict[Any, list[Any]] = {}
    starts = []
    for root, seed in zip(roots, seeds):
        start = root if root._node is None else root._node
        slots = cotangents.setdefault(start, [None] * start.width)
        held = slots[root._index]
        slots[root._index] = seed if held is None else add_cotangents(held, seed)
        starts.append(start)
    order = ready_order(starts, release=not retain_graph)
    mode = local.mode
    was_enabled = mode.is_grad_enabled
    mode.is_grad_enabled = create_graph
    try:
        reverse_walk(order, cotangents, add_cotangents)
    finally:
        mode.is_grad_enabled = was_enabled


def add_cotangents(first: Tensor, second: Tensor) -> Tensor:
    """Return the sum of two cotangents of one value."""
    return wrap(first._data + second._data)


def accumulate(leaf: Tensor, cotangent: Tensor) -> None:
    """Add a cotangent to the leaf's ``grad``; the first one is copied unless nobody else can see its array."""
    held = leaf._grad
    if held is not None:
        np.add(held._data, cotangent._data, out=held._data, casting="same_kind")
        return
    data = cotangent._data
    if data.base is not None or not data.flags.writeable or getrefcount(data) > 3:
        data = data.copy()
    leaf._grad = wrap(data)


def _accumulate_rule(leaf: Tensor, douts: Sequence[Tensor]) -> tuple[()]:
    accumulate(leaf, douts[0])
    return ()


def _no_kernel(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
    raise AssertionError("a leaf is not computed")


#: The op that a leaf stands for in the reverse walk.
ACCUMULATE = OpDef("accumulate_grad", (), (ArgDef("out"),), _no_kernel, grad=_accumulate_rule)
Tensor.opdef = ACCUMULATE
