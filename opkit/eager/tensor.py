"""Tensor: an array, whether it takes a gradient, and the node that produced it.

Operators, reductions and indexing are attached in ``opkit.eager.methods``; only the data is defined here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import Dialect, current_dialect

_names = itertools.count()
_new = object.__new__


class Tensor:
    """A numpy array in dynamic mode.

    Args:
        data: an array, or anything ``numpy.asarray`` reads; kept, not copied.
        stop_gradient: True where no gradient is wanted: the default of all but parameters.

    A Tensor that takes a gradient and was not computed is a leaf; it is its own last step of the reverse walk,
    where its rule adds the cotangent to ``grad``.
    """

    # Slots hold what every Tensor has and the hot paths read; all else is a class attribute that an instance
    # overrides when it first differs.
    __slots__ = ("__dict__", "__weakref__", "_data", "_index", "_node", "_sg")

    _data: ndarray
    _sg: bool
    _node: Any
    _index: int
    _grad: Tensor | None = None
    _name: str | None = None
    _version: list[int] | None = None
    _hooks: dict[int, Callable[[Tensor], Tensor | None]] | None = None
    _is_cleared: bool = False  # grad was filled with zeros; what is added next decides on its stop_gradient
    is_parameter: bool = False
    persistable: bool = False

    # What the reverse walk reads of a leaf; opkit.eager.backward sets the rule.
    walk_rule: Any
    walk_edges: Sequence[Any] = ()
    walk_indices: Sequence[int] = ()
    walk_width: int = 1

    __array_priority__ = 100

    def __init__(self, data: Any, stop_gradient: bool = True) -> None:
        self._data = data if type(data) is ndarray else np.asarray(data)
        self._sg = stop_gradient
        self._node = None
        self._index = 0

    # ---- what it is ------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> list[int]:
        """The sizes, as a list.

        Source: Paddle 2.6.
        """
        return list(self._data.shape)

    @property
    def dialect(self) -> Dialect:
        """The rules and words of the framework that is in use."""
        return current_dialect()

    @property
    def dtype(self) -> Any:
        """The dtype as the framework in use shows it; numpy's where there is none."""
        return current_dialect().show_dtype(self._data.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data.size

    @property
    def inplace_version(self) -> int:
        """How many times the memory of this Tensor was changed in place, through it or through a view of it."""
        return 0 if self._version is None else self._version[0]

    @property
    def name(self) -> str:
        """A name that is unique in the process, generated on first use."""
        if self._name is None:
            kind = "generated_tensor" if self._node is None else "eager_tmp"
            self._name = f"{kind}_{next(_names)}"
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = str(value)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op produced this Tensor."""
        return self._node is None or self._sg

    # ---- gradients -------------------------------------------------------------------------------------------------
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
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise GradValueError(
                f"grad of tensor {self.name!r} takes a Tensor, got {type(value).__name__}",
                help="clear_grad() resets a gradient" if value is None else self.dialect.words.make_tensor,
            )
        if value._data.shape != self._data.shape:
            raise GradValueError(
                f"grad of tensor {self.name!r} has shape {list(self._data.shape)}, got {list(value._data.shape)}"
            )
        self._grad = value

    # ---- numpy -----------------------------------------------------------------------------------------------------
    def numpy(self, blocking: bool = True) -> ndarray:
        """Return a copy of the data (``np.asarray(tensor)`` is a read-only view without one)."""
        return self._data.copy()  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        if copy:
            return np.array(self._data, dtype)
        if dtype is not None and np.dtype(dtype) != self._data.dtype:
            if copy is False:
                raise ValueError(f"a {self._data.dtype} tensor cannot become a {np.dtype(dtype)} array without a copy")
            return self._data.astype(dtype)
        view: ndarray = self._data.view()
        view.setflags(False)  # type: ignore[call-arg]  # write=False, but a keyword takes longer than all the rest
        return view


class TensorFlagError(TypeError, ValueError):
    """A flag of a Tensor was set to something that is not a bool.

    Source: Paddle 2.6 raises ValueError, Paddle 3 TypeError.
    """


class GradValueError(UsageError, TypeError):
    """``Tensor.grad`` was set to something that cannot be its gradient."""


def wrap(data: Any, stop_gradient: bool = True) -> Tensor:
    """Return a Tensor that holds this array object (a numpy scalar becomes a 0-d array)."""
    tensor = _new(Tensor)
    tensor._data = data if type(data) is ndarray else np.asarray(data)
    tensor._sg = stop_gradient
    tensor._node = None
    tensor._index = 0
    return tensor


def version_cell(tensor: Tensor) -> list[int]:
    """Return the count of in-place changes that a Tensor shares with all Tensors on the same memory.

    The node that produced the Tensor may keep its array: it is notified, so that it can detect a change.
    """
    cell = tensor._version
    if cell is None:
        cell = tensor._version = [0]
        if tensor._node is not None:
            tensor._node.watch_output(tensor._index, cell)
    return cell
