"""Changing a Tensor in place: ``x[index] = value``, ``x.add_(y)``, ``x.set_value(array)``.

The new content is computed by an ordinary op, and the Tensor takes the op's place in the graph. Memory is only
written to where another Tensor shares it on purpose (``detach`` and views); then all of them count the change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager.tensor import Tensor, version_cell, wrap
from opkit.errors import AutogradError, DtypeError, ShapeError
from opkit.ops.arrange.indexing import setitem
from opkit.ops.core.mode import local


class InplaceLeafError(AutogradError, ValueError):
    """A leaf that takes a gradient cannot be changed in place."""


class InplaceValueError(ShapeError, DtypeError, AssertionError):
    """``set_value`` got an array of another shape or dtype."""


def check_inplace(tensor: Tensor, what: str) -> None:
    """Refuse to change a leaf that takes a gradient while ops are recorded.

    Raises:
        InplaceLeafError: it is one.
    """
    if not tensor._sg and tensor._node is None and local.mode.is_grad_enabled:
        raise InplaceLeafError(
            f"{what}: tensor {tensor.name!r} is a leaf that takes a gradient and cannot be changed in place",
            help=tensor.dialect.words.change_leaf,
        )


def become(tensor: Tensor, result: Tensor, what: str) -> Tensor:
    """Give a Tensor the content and the place in the graph of an op's result, as one in-place change.

    Args:
        tensor: what is changed.
        result: an op's output; its shape may differ only where nobody shares the memory.
        what: the change, for messages.
    """
    if result._data.dtype != tensor._data.dtype:
        raise DtypeError(
            f"{what}: the result is {result._data.dtype} and cannot be written into a {tensor._data.dtype} tensor"
        )
    if result._data.shape != tensor._data.shape:
        raise ShapeError(
            f"{what}: the result has shape {list(result._data.shape)} and cannot be written into a tensor of shape "
            f"{list(tensor._data.shape)}"
        )
    if result._node is not None:
        _keep_before(tensor, result._node)
    overwrite(tensor, result._data)
    if local.mode.is_grad_enabled:
        tensor._node = result._node
        tensor._index = result._index
        tensor._sg = result._sg
        if result._node is not None:
            # From here on the Tensor's memory is the new node's output; nodes keep arrays, and this array is its own.
            result._node.watch_output(result._index, version_cell(tensor))
    return tensor


def _keep_before(tensor: Tensor, node: Any) -> None:
    """Make an op that changes its own input keep the input's previous state."""
    if any(kept is tensor for kept in node._in):
        is_overwritten = tensor._version is not None and tensor._data.flags.writeable
        before = wrap(tensor._data.copy() if is_overwritten else tensor._data, tensor._sg)
        before._node = tensor._node
        before._index = tensor._index
        node._in = [before if kept is tensor else kept for kept in node._in]
        node._versions = (
            None
            if node._versions is None
            else [0 if kept is before else version for kept, version in zip(node._in, node._versions)]
        )


def overwrite(tensor: Tensor, array: ndarray) -> None:
    """Replace the content of a Tensor and of all that share its memory, and count the change."""
    is_shared = tensor._version is not None
    cell = version_cell(tensor)
    if is_shared and tensor._data.flags.writeable:
        tensor._data[...] = array
    else:
        tensor._data = array.copy() if array.base is not None or not array.flags.writeable else array
    cell[0] += 1


def set_item(tensor: Tensor, index: Any, value: Any) -> None:
    """Do ``tensor[index] = value``, in place and with gradients.

    Args:
        tensor: what is changed.
        index: as ``opkit.ops.arrange.indexing.getitem`` takes it.
        value: a Tensor, array or number that broadcasts; cast to the Tensor's dtype.

    Raises:
        InplaceLeafError: the Tensor is a leaf that takes a gradient.
    """
    check_inplace(tensor, "assigning to an index")
    become(tensor, setitem(tensor, index, value), "assigning to an index")


def set_value(tensor: Tensor, value: Any) -> None:
    """Replace the content of a Tensor, outside the graph.

    Args:
        tensor: what is changed.
        value: an array or Tensor of the same shape and dtype.

    Raises:
        InplaceValueError: shape or dtype differ.
    """
    array = value._data if isinstance(value, Tensor) else np.asarray(value)
    held = tensor._data
    if array.shape != held.shape:
        raise InplaceValueError(
            f"set_value: tensor {tensor.name!r} has shape {list(held.shape)}, the value has {list(array.shape)}"
        )
    if array.dtype != held.dtype:
        raise InplaceValueError(f"set_value: tensor {tensor.name!r} is {held.dtype}, the value is {array.dtype}")
    if tensor._version is not None and held.flags.writeable:
        held[...] = array
    else:
        tensor._data = array.copy()
