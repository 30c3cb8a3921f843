"""``paddle.fluid.layers``: graph layers by their names of Paddle 1.x and 2.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opkit.paddle.nn.functional as F
from opkit.errors import UsageError
from opkit.ir import Variable
from opkit.ops.core.types import Ints, Name
from opkit.paddle import tensor as functions
from opkit.paddle.framework.parameter import create_parameter
from opkit.paddle.static import nn
from opkit.paddle.static.metrics import accuracy
from opkit.paddle.static.program import Print, create_global_var, py_func
from opkit.paddle.static.program import data as add_data
from opkit.shim.missing import guard

__all__ = [
    "Print",
    "accuracy",
    "batch_norm",
    "cast",
    "concat",
    "conv2d",
    "create_global_var",
    "create_parameter",
    "cross_entropy",
    "data",
    "dropout",
    "embedding",
    "fc",
    "fill_constant",
    "matmul",
    "mean",
    "mul",
    "py_func",
    "reduce_mean",
    "reduce_sum",
    "relu",
    "reshape",
    "sigmoid",
    "softmax",
    "softmax_with_cross_entropy",
    "square",
    "tanh",
]

batch_norm, conv2d = nn.batch_norm, nn.conv2d
cast, concat, matmul, square = functions.cast, functions.concat, functions.matmul, functions.square
relu, sigmoid = F.relu, F.sigmoid


def data(
    name: str,
    shape: Sequence[Any],
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Variable:
    """Return a Variable that is fed; a batch axis of any size is put in front unless the shape has an open size."""
    sizes = list(shape)
    if append_batch_size and not any(size is None or size < 0 for size in sizes):
        sizes = [-1, *sizes]
    variable = add_data(name, sizes, dtype, lod_level=lod_level)
    variable.stop_gradient = stop_gradient
    return variable


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: Name = None,
) -> Variable:
    """Return ``act(input @ w + b)``."""
    return nn.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def embedding(
    input: Any,
    size: Ints,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Variable:
    """Return the rows of a table; a last axis of indices of size 1 is dropped."""
    indices = functions.squeeze(input, -1) if input.shape[-1] == 1 else input
    return nn.embedding(indices, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def mean(x: Any, name: Name = None) -> Any:
    """Return the mean of all elements, of shape [1]."""
    return functions.reshape(functions.mean(x), [1])


def reduce_mean(input: Any, dim: Any = None, keep_dim: bool = False, name: Name = None) -> Any:
    """Return the mean over axes."""
    return functions.mean(input, dim, keep_dim)


def reduce_sum(input: Any, dim: Any = None, keep_dim: bool = False, name: Name = None) -> Any:
    """Return the sum over axes."""
    return functions.sum(input, dim, None, keep_dim)


def reshape(x: Any, shape: Any, actual_shape: Any = None, act: Any = None, inplace: bool = False) -> Any:
    """Return x in another shape."""
    return functions.reshape(x, shape)


def softmax(input: Any, use_cudnn: bool = True, name: Name = None, axis: int = -1) -> Any:
    """Return softmax over an axis."""
    return F.softmax(input, axis)


def tanh(x: Any, name: Name = None) -> Any:
    """Return the hyperbolic tangent."""
    return functions.tanh(x)


def mul(x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: Name = None) -> Any:
    """Return the product of two matrices."""
    if (x_num_col_dims, y_num_col_dims) != (1, 1) or x.ndim != 2 or y.ndim != 2:
        raise UsageError("fluid.layers.mul: opkit takes two matrices; use matmul for other shapes")
    return functions.matmul(x, y)


def cross_entropy(input: Any, label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """Return the cross entropy of probabilities per sample, of shape [N, 1]."""
    return F.cross_entropy(
        input, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, use_softmax=False
    )


def softmax_with_cross_entropy(
    logits: Any, label: Any, soft_label: bool = False, ignore_index: int = -100, **others: Any
) -> Any:
    """Return the cross entropy of logits per sample, of shape [N, 1]."""
    return F.cross_entropy(logits, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label)


def dropout(x: Any, dropout_prob: float, is_test: bool = False, **others: Any) -> Any:
    """Return x after dropout (1.x scales in inference instead: ``downgrade_in_infer``)."""
    mode = others.get("dropout_implementation", "downgrade_in_infer")
    return F.dropout(x, dropout_prob, training=not is_test, mode="downscale_in_infer" if mode[0] == "d" else mode)


def fill_constant(shape: Any, dtype: Any, value: float, **others: Any) -> Any:
    """Return a tensor filled with one number."""
    return functions.full(shape, value, dtype)


__getattr__ = guard(globals())
