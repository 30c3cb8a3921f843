"""Functions of tensors (``oneflow.experimental``, v0.4), most of which are methods too.

Names and argument order only: each is a function of ``opkit.oneflow`` under another name, or an op of ``opkit.ops``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit import eager
from opkit.errors import ShapeError, UsageError
from opkit.ir import Shape, canonical_dtype
from opkit.oneflow import array, nn, places
from opkit.oneflow import math as flow_math
from opkit.oneflow.experimental.tensors import Size, Tensor, device, lifted, of, tensor, value_of
from opkit.oneflow.initializers import random_normal_initializer, random_uniform_initializer
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.semantics.checkpoint import read_checkpoint, write_checkpoint
from opkit.oneflow.user_op import as_value
from opkit.ops.core.types import Ints
from opkit.ops.core.value import normal_axis, shape_of
from opkit.paths import StrPath

__all__ = [
    "Size",
    "Tensor",
    "device",
    "tensor",
    "abs",
    "add",
    "arange",
    "arcsin",
    "arcsinh",
    "argmax",
    "argwhere",
    "asin",
    "asinh",
    "broadcast_like",
    "cast",
    "cat",
    "cos",
    "cosh",
    "div",
    "eq",
    "equal",
    "exp",
    "expand",
    "flatten",
    "gather",
    "gelu",
    "gt",
    "log",
    "load",
    "lt",
    "masked_fill",
    "matmul",
    "mean",
    "mul",
    "neg",
    "negative",
    "no_grad",
    "ones",
    "ones_like",
    "permute",
    "pow",
    "reciprocal",
    "repeat",
    "reshape",
    "rsqrt",
    "save",
    "sigmoid",
    "sin",
    "slice",
    "slice_update",
    "softmax",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sub",
    "sum",
    "tanh",
    "to",
    "transpose",
    "unsqueeze",
    "var",
    "where",
    "zeros",
    "zeros_like",
]

no_grad = eager.no_grad


def _of(parameter: str, function: Callable[[Any], Any]) -> Callable[..., Tensor]:
    """Return a function of one tensor whose parameter has v0.4's name."""
    applied = lifted(function)

    def call(*args: Any, **kwargs: Any) -> Tensor:
        if kwargs.keys() - {parameter} or len(args) + len(kwargs) != 1:
            raise TypeError(f"flow.{function.__name__} takes one tensor ({parameter}=), got {len(args) + len(kwargs)}")
        return applied(*args, *kwargs.values())  # type: ignore[no-any-return]

    call.__doc__ = function.__doc__
    return call


# ---- element by element ----------------------------------------------------------------------------------------------
abs = _of("x", flow_math.abs)
asin = arcsin = _of("input", flow_math.asin)
asinh = arcsinh = _of("input", flow_math.asinh)
cos = _of("tensor", flow_math.cos)
cosh = _of("tensor", flow_math.cosh)
exp = _of("x", flow_math.exp)
gelu = _of("x", flow_math.gelu)
log = _of("tensor", flow_math.log)
neg = negative = _of("x", flow_math.negative)
reciprocal = _of("x", flow_math.reciprocal)
rsqrt = _of("input", flow_math.rsqrt)
sigmoid = _of("x", flow_math.sigmoid)
sin = _of("tensor", flow_math.sin)
sqrt = _of("input", flow_math.sqrt)
square = _of("input", flow_math.square)
tanh = _of("x", flow_math.tanh)
add = lifted(flow_math.add)
sub = lifted(flow_math.subtract)
mul = lifted(flow_math.multiply)
div = lifted(flow_math.divide)
pow = lifted(flow_math.pow)
eq = equal = lifted(flow_math.equal)
gt = lifted(flow_math.greater)
lt = lifted(flow_math.less)
masked_fill = lifted(places.masked_fill)
where = lifted(array.where)


@lifted
def cast(x: Any, dtype: Any) -> Any:
    """Convert to another dtype."""
    return array.cast(x, dtype)


# ---- reductions ------------------------------------------------------------------------------------------------------
@lifted
def sum(input: Any, dim: int | Ints | None = None, keepdims: bool = False) -> Any:
    """Return the sum over axes, over all of them (of shape (1,)) where left out."""
    return flow_math.reduce_sum(input, dim, keepdims)


@lifted
def mean(input_tensor: Any, dim: int | Ints | None = None, keepdim: bool = False) -> Any:
    """Return the mean over axes, over all of them (of shape (1,)) where left out."""
    return flow_math.reduce_mean(input_tensor, dim, keepdim)


@lifted
def var(input: Any, dim: int | Ints | None = None, keepdim: bool = False) -> Any:
    """Return the variance over axes: the mean of the squared gaps to the mean."""
    return flow_math.reduce_variance(input, dim, keepdim)


@lifted
def std(tensor: Any, dim: int | Ints, unbiased: bool = True, keepdim: bool = False) -> Any:
    """Return the standard deviation over axes, divided by the number of elements; ``unbiased`` has to be left out."""
    if not unbiased:
        raise UsageError("flow.std: unbiased=False is not supported, as in OneFlow v0.4")
    return flow_math.reduce_std(tensor, dim, keepdim)


@lifted
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the largest element along an axis, of all elements (of shape (1,)) where left out."""
    if dim is None:
        found = flow_math.argmax(ops.reshape(input, (-1,)), 0)
        return ops.reshape(found, (1,))
    found = flow_math.argmax(input, dim)
    return ops.expand_dims(found, normal_axis(dim, len(shape_of(input)), "flow.argmax")) if keepdim else found


@lifted
def softmax(tensor: Any, dim: int | None = None) -> Any:
    """Return the softmax along an axis, the last where left out."""
    return nn.softmax(tensor, dim)


@lifted
def matmul(a: Any, b: Any) -> Any:
    """Return the matrix product; leading axes are batches."""
    return ops.matmul(a, b)


# ---- shapes ----------------------------------------------------------------------------------------------------------
flatten = lifted(array.flatten)
argwhere = lifted(places.argwhere)
broadcast_like = lifted(array.broadcast_like)
slice = lifted(array.slice_v2)
slice_update = lifted(places.slice_update)


@lifted
def reshape(x: Any, shape: Ints) -> Any:
    """Return the tensor in another shape; one size may be -1."""
    return array.reshape(x, shape)


@lifted
def squeeze(input: Any, dim: int | Ints | None = None) -> Any:
    """Drop axes of size 1: the named ones, or all of them."""
    return array.squeeze(input, [dim] if isinstance(dim, int) else dim)


@lifted
def unsqueeze(input: Any, dim: int) -> Any:
    """Insert an axis of size 1."""
    return array.expand_dims(input, dim)


@lifted
def transpose(tensor: Any, dim0: int, dim1: int) -> Any:
    """Swap two axes."""
    return ops.swapaxes(tensor, dim0, dim1)


def permute(tensor: Tensor, *dims: int) -> Tensor:
    """Put the axes into another order."""
    return lifted(array.transpose)(tensor, [normal_axis(dim, tensor.ndim, "permute") for dim in dims])  # type: ignore[no-any-return]


def expand(x: Tensor, *sizes: int) -> Tensor:
    """Repeat axes of size 1, and new axes in front; -1 keeps an axis."""
    return lifted(array.expand)(x, sizes)  # type: ignore[no-any-return]


@lifted
def repeat(x: Any, sizes: Ints) -> Any:
    """Put copies side by side: ``sizes[i]`` along axis i, new axes in front."""
    from opkit.ops import tile

    lead = len(sizes) - len(shape_of(x))
    if lead < 0:
        raise ShapeError(
            f"flow.repeat: {list(sizes)} has fewer numbers than the tensor of shape {shape_of(x)} has axes"
        )
    return tile(ops.reshape(x, [*[1] * lead, *shape_of(x)]), list(sizes))


def cat(inputs: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an axis."""
    values = [as_value(value_of(item)) for item in inputs]
    return of(array.concat(values, normal_axis(dim, inputs[0].ndim, "flow.cat")), inputs[0].device)


@lifted
def gather(input: Any, index: Any, dim: int = 0, sparse_grad: bool = False) -> Any:
    """Take the elements along one axis that the index names, place by place."""
    if sparse_grad:
        raise UsageError("flow.gather: sparse_grad is not supported, as in OneFlow v0.4")
    return places.dim_gather(input, dim, index)


# ---- making ----------------------------------------------------------------------------------------------------------
def _sizes(size: Any) -> Shape:
    return (int(size),) if isinstance(size, (int, np.integer)) else tuple(int(item) for item in size)


def zeros(size: Any, dtype: Any = None) -> Tensor:
    """Return zeros (float32, or ``dtype``)."""
    return Tensor(np.zeros(_sizes(size)), dtype=dtype)


def ones(size: Any, dtype: Any = None) -> Tensor:
    """Return ones (float32, or ``dtype``)."""
    return Tensor(np.ones(_sizes(size)), dtype=dtype)


zeros_like = lifted(array.zeros_like)
ones_like = lifted(array.ones_like)


def arange(
    start: int = 0,
    end: int | None = None,
    step: int = 1,
    dtype: Any = "int64",
    device: Any = "cpu",
    requires_grad: bool = False,
) -> Tensor:
    """Return ``start, start + step, ...`` below ``end``; one number alone is the end."""
    first, last = (0, start) if end is None else (start, end)
    if step <= 0 or last < first:
        raise UsageError(f"flow.arange: expected an end from {first} on and a step above 0, got {last} and {step}")
    return Tensor(
        np.arange(first, last, step), dtype=canonical_dtype(dtype), device=device, requires_grad=requires_grad
    )


def to(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Tensor:
    """Return the tensor on another device, as another dtype, or like another tensor; itself where nothing changes."""
    where = device
    for item in args:
        if isinstance(item, Tensor):
            where, dtype = item.device, item.dtype
        elif isinstance(item, (_Device, str)):
            where = item
        else:
            dtype = item
    target = input.device if where is None else where if isinstance(where, _Device) else _Device(where)
    if target == input.device and not copy and (dtype is None or input.dtype == dtype):
        return input
    value = ops.identity(input._value) if dtype is None else array.cast(ops.identity(input._value), dtype)
    return of(value, target)


_Device = device


# ---- files -----------------------------------------------------------------------------------------------------------
def save(obj: Mapping[str, Any], save_dir: StrPath) -> None:
    """Save tensors by name to a folder, such as a module's ``state_dict()``; all of it is written or nothing.

    Raises:
        CheckpointError: the folder is taken by something else, or cannot be written.
    """
    write_checkpoint(save_dir, {name: np.asarray(item) for name, item in obj.items()})


def load(save_dir: StrPath) -> dict[str, Tensor]:
    """Return what ``save`` wrote, by name.

    Raises:
        CheckpointError: the folder is missing, or is not what ``save`` writes.
    """
    return {name: of(eager.wrap(item.numpy())) for name, item in read_checkpoint(save_dir).items()}


# ---- methods ---------------------------------------------------------------------------------------------------------
def _getitem(self: Tensor, index: Any) -> Tensor:
    return of(ops.getitem(self._value, value_of(index)), self.device)


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    self._value[value_of(index)] = value_of(value)  # type: ignore[index]


def _uniform(self: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    return self.drawn_(random_uniform_initializer(a, b))


def _normal(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return self.drawn_(random_normal_initializer(mean, std))


_SAME_NAME = (
    *("abs", "add", "arcsin", "arcsinh", "argmax", "argwhere", "asin", "asinh", "cast", "cos", "cosh", "div", "eq"),
    *("exp", "expand", "flatten", "gather", "gelu", "gt", "log", "lt", "masked_fill", "matmul", "mean", "mul"),
    *("negative", "permute", "pow", "reciprocal", "repeat", "reshape", "rsqrt", "sigmoid", "sin", "softmax", "sqrt"),
    *("square", "squeeze", "std", "sub", "sum", "tanh", "to", "transpose", "unsqueeze", "var", "where"),
)
for _name in _SAME_NAME:
    setattr(Tensor, _name, globals()[_name])


def _turned(function: Any) -> Any:
    return lambda self, other: function(other, self)


for _name, _function in {
    "__add__": add,
    "__radd__": add,
    "__sub__": sub,
    "__rsub__": _turned(sub),
    "__mul__": mul,
    "__rmul__": mul,
    "__truediv__": div,
    "__rtruediv__": _turned(div),
    "__neg__": neg,
    "__pow__": pow,
    "__gt__": gt,
    "__lt__": lt,
    "__matmul__": matmul,
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "uniform_": _uniform,
    "normal_": _normal,
}.items():
    setattr(Tensor, _name, _function)
