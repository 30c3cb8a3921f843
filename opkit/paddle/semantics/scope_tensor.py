"""ScopeTensor: a Variable's data in a Scope as ``find_var(name).get_tensor()`` hands it out, and that of a Tensor.

Where the data lives is ``opkit.static.scope``'s.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor
from opkit.eager.tensor import version_cell
from opkit.paddle.semantics.dtypes import DType, dtype_object
from opkit.static.scope import Holder


class _Place(Protocol):
    """What holds one array under a name; ``opkit.static.scope.Holder`` does."""

    @property
    def name(self) -> str: ...

    @property
    def array(self) -> ndarray | None: ...

    def put(self, array: ndarray) -> None: ...


class _InTensor:
    """The place of a Tensor's own data."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    @property
    def name(self) -> str:
        return self._tensor.name

    @property
    def array(self) -> ndarray:
        return self._tensor._data

    def put(self, array: ndarray) -> None:
        self._tensor._data = array
        version_cell(self._tensor)[0] += 1


class ScopeTensor:
    """What numpy reads and what can be set.

    Source: Paddle 2.6, paddle.static.global_scope.
    """

    __slots__ = ("_holder",)

    def __init__(self, holder: _Place) -> None:
        self._holder = holder

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        array = self._array()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array if copy is False else array.copy()

    def numpy(self) -> ndarray:
        """Return a copy of the data."""
        copied: ndarray = self._array().copy()
        return copied

    def set(self, array: Any, place: Any = None) -> None:
        """Replace the data by a copy of an array."""
        self._holder.put(np.array(array))

    def shape(self) -> list[int]:
        """Return the sizes (a method)."""
        return list(self._array().shape)

    def lod(self) -> list[list[int]]:
        """Return where the sequences of a batch begin: none, since arrays have no sequence levels here."""
        return []

    def _dtype(self) -> DType:
        return dtype_object(self._array().dtype)

    def _is_initialized(self) -> bool:
        return self._holder.array is not None

    def __len__(self) -> int:
        return len(self._array())

    def __getitem__(self, index: Any) -> Any:
        return self._array()[index]

    def _array(self) -> ndarray:
        if self._holder.array is None:
            return np.empty((0,), np.float32)
        return self._holder.array

    def __repr__(self) -> str:
        return f"ScopeTensor({self._holder.name}: {self._holder.array!r})"


# Scripts ask for the name of the type; Paddle's core calls it Tensor.
ScopeTensor.__name__ = "Tensor"


def _get_tensor(self: Holder) -> ScopeTensor:
    """Return the Variable's data as an object that numpy reads and that can be set."""
    return ScopeTensor(self)


def tensor_of(x: Tensor) -> ScopeTensor:
    """Return a Tensor's data as an object that numpy reads and that can be set, to another shape or dtype too."""
    return ScopeTensor(_InTensor(x))


def install_get_tensor() -> None:
    """Give the places in a Scope Paddle's method."""
    kind: Any = Holder
    kind.get_tensor = _get_tensor
