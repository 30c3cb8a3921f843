"""Records of a PyLayer's application: what its backward is checked against, and what was saved for it.

An application of one Tensor to one Tensor, by far the most common, has a ``SingleRecord``; all others have a
``GeneralRecord``. Both are made by forward and never change.
"""

from __future__ import annotations

from enum import Enum
from typing import Any
from weakref import ref

import numpy as np
from numpy import ndarray

from opkit.eager.tensor import Tensor
from opkit.record import record


@record
class Input:
    """One Tensor that forward was given.

    Args:
        shape: its shape, which its gradient must have.
        dtype: its dtype, to which its gradient is cast.
        is_stopped: it takes no gradient.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    is_stopped: bool


@record
class Slot:
    """One Tensor argument of forward, or one list with Tensors in it.

    Args:
        start: position of its first Tensor among all.
        members: None for a Tensor; for a list its length and the positions of its Tensors.
    """

    start: int
    members: tuple[int, tuple[int, ...]] | None


@record
class Place:
    """One gradient that backward is given.

    Args:
        index: of the output that it belongs to; -1 where the output appears again at a later position.
        shape: the output's.
        dtype: the output's.
    """

    index: int
    shape: tuple[int, ...]
    dtype: np.dtype


_ONE = (Slot(0, None),)


class SingleRecord:
    """One Tensor in, which takes a gradient, and one Tensor out.

    Attributes:
        shape: the input's.
        dtype: the input's.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The Tensors that forward was given."""
        return (Input(self.shape, self.dtype, False),)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The arguments that they belong to."""
        return _ONE


@record
class GeneralRecord:
    """Any other application.

    Args:
        inputs: the Tensors that forward was given.
        slots: the arguments that they stood in: one gradient each is what backward returns.
        outputs: what backward is given: a gradient per output Tensor, a list of them per list.
    """

    inputs: tuple[Input, ...]
    slots: tuple[Slot, ...]
    outputs: tuple[Place | list[Place], ...]


class Saved(Enum):
    """What forward saved if no values have to be kept for it."""

    NOTHING = "forward is over and saved nothing"
    OUTPUT = "the only output, and nothing else: the context holds it weakly, and its data"


@record
class SavedOutput:
    """An output that was saved: the context must not keep its own output Tensor alive, only its data.

    Args:
        held: the Tensor.
        array: its data.
        index: which output it is.
    """

    held: ref[Tensor]
    array: ndarray
    index: int

    def restored(self, context: Any) -> Tensor:
        """Return the Tensor, or, if it was freed, one on the same data and at the same place in the graph."""
        tensor = self.held()
        if tensor is None:
            tensor = object.__new__(Tensor)
            tensor._data = self.array
            tensor._sg = False
            tensor._node = context
            tensor._index = self.index
        return tensor


@record
class SavedItems:
    """Several saved values, some of which have to be restored.

    Args:
        items: values as they were saved, SavedOutput and Packed among them.
    """

    items: tuple[Any, ...]
