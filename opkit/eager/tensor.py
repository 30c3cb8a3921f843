"""Tensor: an array, whether it takes a gradient, and the node that produced it.

What a Tensor can do (operators, reductions, indexing) is attached in ``opkit.eager.methods``; here is what it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opkit.ops.opdef import OpDef

__all__ = ["Tensor", "TensorFlagError", "wrap"]

_names = itertools.count()
_new = object.__new__


class Tensor:
    """A numpy array in dynamic mode.

    Args:
        data: an array, or anything ``numpy.asarray`` reads; kept, not copied.
        stop_gradient: True where no gradient is wanted (Paddle 2.6: the default of all but parameters).

    A Tensor that takes a gradient and was not computed is a leaf; it is its own last step of the reverse walk,
    where its rule adds the cotangent to ``grad``.
    """

    # Slots hold what every Tensor has and the hot paths read; all else is a class attribute that an instance
    # overrides when it first differs.
    __slots__ = ("__dict__", "__weakref__", "_data", "_index", "_node", "_sg")

    _data: np.ndarray
    _sg: bool
    _node: Any
    _index: int
    _grad: Tensor | None = None
    _name: str | None = None
    _version: list[int] | None = None
    _hooks: dict[int, Callable[[Tensor], Tensor | None]] | None = None
    is_parameter: bool = False
    persistable: bool = False

    # What the reverse walk reads of a leaf; opkit.eager.backward sets the op.
    opdef: OpDef
    edges: Sequence[Any] = ()
    indices: Sequence[int] = ()
    width: int = 1

    # numpy hands operators over to Tensor; see opkit.eager.interop for ufuncs.
    __array_priority__ = 100

    def __init__(self, data: Any, stop_gradient: bool = True) -> None:
        self._data = data if type(data) is np.ndarray else np.asarray(data)
        self._sg = stop_gradient
        self._node = None
        self._index = 0

    @property
    def stop_gradient(self) -> bool:
        """Whether this Tensor takes no gradient."""
        return self._sg

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise TensorFlagError(f"stop_gradient takes a bool, got {type(value).__name__} {value!r}")
        self._sg = bool(value)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op produced this Tensor."""
        return self._node is None or self._sg

    @property
    def name(self) -> str:
        """A name unique in the process, made when it is first asked for."""
        if self._name is None:
            self._name = f"generated_tensor_{next(_names)}"
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = str(value)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, or None."""
        return self._grad


class TensorFlagError(TypeError, ValueError):
    """A flag of a Tensor was set to something that is no bool (Paddle 2.6 raises ValueError, 3 TypeError)."""


def wrap(data: Any, stop_gradient: bool = True) -> Tensor:
    """Return a Tensor that holds this very array (a numpy scalar becomes a 0-d array)."""
    tensor = _new(Tensor)
    tensor._data = data if type(data) is np.ndarray else np.asarray(data)
    tensor._sg = stop_gradient
    tensor._node = None
    tensor._index = 0
    return tensor
