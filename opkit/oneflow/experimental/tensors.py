"""Tensor: what ``flow.Tensor`` and ``flow.tensor`` make: a value of dynamic mode with OneFlow's words (v0.4).

Functions of tensors are in ``functions``, which attaches them as methods.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import eager
from opkit.errors import UnsupportedError, UsageError
from opkit.ir import canonical_dtype, to_numpy
from opkit.oneflow.scalar_types import DType, dtype_of
from opkit.ops.core.types import Function
from opkit.ops.kernels.initializer import Initializer
from opkit.settings import current_settings


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple with ``numel()``."""

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return int(np.prod(self, dtype=np.int64))

    def index(self, value: int, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        """Return the place of a size, the first one from ``start`` on."""
        return tuple.index(self, value, start, len(self) if end is None else end)

    def count(self, value: int) -> int:
        """Return how many axes have a size."""
        return tuple.count(self, value)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return f"oneflow.Size({list(self)})"


class device:
    """Where a tensor is: ``flow.device("cpu")``.

    Args:
        type: "cpu"; "cuda" under ``opkit run --gpu-as-cpu``; with a number, as "cuda:0", or without.
        index: the number.

    Raises:
        UnsupportedError: a GPU is asked for.
        UsageError: it is another.
    """

    def __init__(self, type: str, index: int | None = None) -> None:
        kind, _, number = str(type).partition(":")
        if kind not in ("cpu", "cuda", "gpu") or (number and not number.isdigit()):
            raise UsageError(f"flow.device: expected 'cpu', 'cuda' or one of these with a number, got {type!r}")
        if kind != "cpu" and not current_settings().gpu_as_cpu:
            raise UnsupportedError(
                f"flow.device({type!r}): opkit's runtime is CPU only",
                help="write flow.device('cpu'), or run the script with 'opkit run --gpu-as-cpu JOB.py'",
            )
        self.type = "cuda" if kind == "gpu" else kind
        self.index = int(number) if number else index or 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self.index})"


class Tensor:
    """An array in dynamic mode.

    Args:
        args: sizes, one Size, or data: an array, a list, a tuple or a Tensor. Sizes give zeros.
        dtype: float32 where left out.
        device: a ``flow.device`` or its name.
        requires_grad: whether ``backward`` computes its gradient.
        data_initializer: makes the data where sizes are given.

    Raises:
        TypeError: the arguments are none of these.
    """

    __array_priority__ = 200

    _value: eager.Tensor
    _device: device

    def __init__(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        placement: Any = None,
        sbp: Any = None,
        is_consistent: bool = False,
        is_lazy: bool = False,
        data_initializer: Initializer | None = None,
        determining_initializer: Any = None,
    ) -> None:
        kind = to_numpy(canonical_dtype(dtype or "float32"))
        first = args[0] if len(args) == 1 else None
        if isinstance(first, Tensor):
            array, device = np.array(first._value._data), device or first.device
        elif isinstance(first, eager.Tensor):
            array = np.array(first._data)
        elif isinstance(first, Size) or (args and all(isinstance(size, (int, np.integer)) for size in args)):
            sizes = tuple(first) if isinstance(first, Size) else tuple(int(size) for size in args)
            array = np.zeros(sizes, kind)
            if data_initializer is not None:
                array = np.asarray(data_initializer(np.random.default_rng(0), sizes, kind))
        elif isinstance(first, (ndarray, np.generic, list, tuple, float)):
            array = np.array(first, dtype=kind)
        else:
            raise TypeError(f"flow.Tensor takes sizes, or one array, list, tuple or Tensor, got {args!r}")
        self._value = eager.wrap(array, stop_gradient=not requires_grad)
        self._device = _device(device)

    # ---- what it is --------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The sizes."""
        return Size(self._value._data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._value.ndim

    @property
    def dtype(self) -> DType:
        """OneFlow's dtype."""
        return dtype_of(self._value._data.dtype)

    @property
    def device(self) -> device:
        """Where it is said to be."""
        return self._device

    @property
    def is_cuda(self) -> bool:
        """Whether it is said to be on a GPU."""
        return self._device.type == "cuda"

    @property
    def is_consistent(self) -> bool:
        """Whether it lies on several devices: never."""
        return False

    @property
    def is_lazy(self) -> bool:
        """Whether it is a blob of a graph: never."""
        return False

    def size(self, idx: int | None = None) -> Any:
        """Return the sizes, or that of one axis."""
        return self.shape if idx is None else self.shape[idx]

    def dim(self) -> int:
        """Return the number of axes."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self._value.size)

    nelement = numel

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return int(self._value._data.itemsize)

    def get_device(self) -> int:
        """Return the number of its device."""
        return self._device.index

    def determine(self, determining_initializer: Any = None) -> None:
        """Do nothing: a tensor has its data at once."""

    def is_floating_point(self) -> bool:
        """Return whether its elements are floating-point numbers."""
        return bool(self._value._data.dtype.kind == "f")

    # ---- gradients ---------------------------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """Whether ``backward`` computes its gradient."""
        return not self._value.stop_gradient

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._value.stop_gradient = not value

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` accumulated, or None."""
        found = self._value.grad
        return None if found is None else of(found, self._device)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._value.clear_gradient(False)  # type: ignore[attr-defined]
        else:
            self._value.grad = value._value

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op produced it."""
        return self._value.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The recorded op that produced it, or None."""
        return None if self._value.is_leaf else self._value._node

    @property
    def data(self) -> Tensor:
        """The same data without a gradient."""
        return self.detach()

    def detach(self) -> Tensor:
        """Return the same data without a gradient."""
        return of(eager.wrap(self._value._data), self._device)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that an op produced."""
        eager.retain_grads(self._value)

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Compute the gradients of all tensors with ``requires_grad`` that this one depends on; see ``grad``.

        Raises:
            UsageError: several elements without a gradient, or ``create_graph``, which v0.4 does not have.
        """
        if create_graph:
            raise UsageError("backward: create_graph is not supported, as in OneFlow v0.4")
        if gradient is None and self.numel() != 1:
            raise UsageError(
                f"backward of a tensor of shape {tuple(self.shape)} needs its gradient",
                help="sum it up first: x.sum().backward(), or pass flow.ones_like(x)",
            )
        seed = None if gradient is None else gradient._value
        eager.run_backward([self._value], [seed], retain_graph=retain_graph)

    # ---- its data ----------------------------------------------------------------------------------------------------
    def numpy(self) -> ndarray:
        """Return a copy of the data."""
        return self._value.numpy()

    def tolist(self) -> Any:
        """Return the data as nested lists."""
        return self._value._data.tolist()

    def item(self) -> Any:
        """Return the one element as a Python number."""
        return self._value._data.item()

    def copy_(self, other: Any) -> Tensor:
        """Write another tensor's or array's data into this one.

        Raises:
            UsageError: the shapes differ.
        """
        array = np.asarray(other._value._data if isinstance(other, Tensor) else other)
        if array.shape != tuple(self.shape):
            raise UsageError(f"copy_: expected shape {tuple(self.shape)}, got {array.shape}")
        self._value._data[...] = array
        return self

    def fill_(self, value: float) -> Tensor:
        """Set every element to a number."""
        self._value._data[...] = value
        return self

    def zeros_(self) -> Tensor:
        """Set every element to 0."""
        return self.fill_(0)

    def drawn_(self, initializer: Initializer) -> Tensor:
        """Set the elements to what an initializer draws from the process's generator."""
        from opkit.ops import generator

        data = self._value._data
        return self.copy_(initializer(generator(), data.shape, data.dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        return np.array(self._value._data, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._value._data)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._value = eager.wrap(self._value._data.copy(), self._value.stop_gradient)
        memo[id(self)] = twin
        return twin

    def __repr__(self) -> str:
        told = [np.array2string(self._value._data, separator=", ")]
        if self.is_cuda:
            told.append(f"device='{self._device.type}:{self._device.index}'")
        told.append(f"dtype={self.dtype!r}")
        if self.requires_grad:
            told.append("requires_grad=True")
        return f"tensor({', '.join(told)})"


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **placing: Any) -> Tensor:
    """Return a tensor of data: numbers, nested lists, an array; Python's floats give float32, an array its own dtype.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(data, (ndarray, np.generic, list, tuple, int, float)):
        raise TypeError(f"flow.tensor takes a number, list, tuple or array, got {type(data).__name__}")
    array = np.asarray(data)
    if dtype is None:
        is_python = not isinstance(data, (ndarray, np.generic))
        dtype = "float32" if is_python and array.dtype.kind == "f" else array.dtype.name
    return Tensor(array, dtype=dtype, device=device, requires_grad=requires_grad)


def _device(given: Any) -> device:
    return device("cpu") if given is None else given if isinstance(given, device) else device(given)


# ---- between tensors and values --------------------------------------------------------------------------------------
def of(value: Any, where: device | None = None) -> Tensor:
    """Return the tensor of a value of dynamic mode."""
    made = object.__new__(Tensor)
    made._value, made._device = value, where or device("cpu")
    return made


def value_of(item: Any) -> Any:
    """Return the value of a tensor, and of lists and tuples with tensors; anything else itself."""
    if isinstance(item, Tensor):
        return item._value
    if isinstance(item, (list, tuple)) and any(isinstance(part, Tensor) for part in item):
        return [value_of(part) for part in item]
    return item


def lifted(function: Function) -> Function:
    """Return a function of blobs as one of tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        where = next((item.device for item in (*args, *kwargs.values()) if isinstance(item, Tensor)), None)
        out = function(*map(value_of, args), **{name: value_of(item) for name, item in kwargs.items()})
        if isinstance(out, (list, tuple)):
            return type(out)(of(part, where) for part in out)
        return of(out, where)

    return call
