"""Upstream: Tensors as an op before the PyLayer would have made them, without that op.

A gradient with respect to such a Tensor is what arrives at it; nothing lies beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.eager import Tensor, wrap
from opkit.eager.node import Node
from opkit.ops.basis.creation import IDENTITY
from opkit.ops.core.define import NO_ATTRS


def as_result(leaf: Tensor) -> Tensor:
    """Give a leaf the place in the graph of an op's result, and return another Tensor on its array at that place.

    The function that gets the other one may give it another place; the leaf stays where the gradient is wanted.
    """
    node = Node()
    node.opdef, node.attrs = IDENTITY, NO_ATTRS
    node.walk_rule, node.walk_width = _end, 1
    node.walk_edges, node.walk_indices = (), ()
    node._in, node._out, node._versions, node._cells = (), None, None, None
    leaf._node = node
    made = wrap(leaf._data, stop_gradient=False)
    made._node = node
    return made


def _end(node: Node, _douts: Sequence[Any], release: bool) -> tuple[()]:
    if release:
        node.walk_edges = None
    return ()
