"""OneFlow v0.4's names over opkit's runtime: what ``import oneflow as flow`` gives under ``opkit run``."""

from __future__ import annotations

from typing import Any

from opkit.ir import adopt as _adopt
from opkit.oneflow import (
    config,
    data,
    distribute,
    env,
    experimental,
    initializers,
    layers,
    math,
    nn,
    optimizer,
    scope,
    typing,
    unittest,
    util,
)
from opkit.oneflow.array import (
    assign,
    broadcast_like,
    cast,
    concat,
    constant,
    constant_like,
    constant_scalar,
    elem_cnt,
    expand_dims,
    flatten,
    gather,
    gather_nd,
    hierarchical_parallel_cast,
    identity,
    one_hot,
    ones,
    ones_like,
    pad,
    parallel_cast,
    range,
    reshape,
    reshape_like,
    reverse,
    scatter_nd,
    slice,
    slice_v2,
    split,
    squeeze,
    stack,
    transpose,
    where,
    zeros,
    zeros_like,
)
from opkit.oneflow.function_config import FunctionConfig
from opkit.oneflow.initializers import (
    constant_initializer,
    empty_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    kaiming_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    regularizers,
    truncated_normal,
    truncated_normal_initializer,
    variance_scaling_initializer,
    xavier_normal_initializer,
    xavier_uniform_initializer,
    zeros_initializer,
)
from opkit.oneflow.job import eager_execution_enabled, enable_eager_execution, global_function
from opkit.oneflow.linalg import linalg, matmul
from opkit.oneflow.scalar_types import (
    DType,
    bool,
    char,
    convert_oneflow_dtype_to_numpy_dtype,
    double,
    dtypes,
    float,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    record,
    tensor_buffer,
    uint8,
)
from opkit.oneflow.semantics.dialect import ONEFLOW as _ONEFLOW
from opkit.oneflow.session import clear_default_session
from opkit.oneflow.user_op import user_op_builder
from opkit.oneflow.variable import checkpoint, get_all_variables, get_variable, load_variables, train
from opkit.oneflow.watch import losses, watch, watch_diff
from opkit.shim.missing import guard

int = int32
function_config = ExecutionConfig = FunctionConfig
dtype = DType
clip_by_value = clip = clip_by_scalar = math.clip_by_value
sigmoid, tanh, gelu, relu = math.sigmoid, math.tanh, math.gelu, math.relu
consistent_user_op_builder = user_op_builder

__version__ = "0.4.0"

# Blobs outside jobs are OneFlow's too, unless Paddle is in use: then they are Paddle's Tensors.
_adopt(_ONEFLOW, unless_adopted=True)

__all__ = [
    "DType",
    "ExecutionConfig",
    "FunctionConfig",
    "assign",
    "bool",
    "broadcast_like",
    "cast",
    "char",
    "checkpoint",
    "clear_default_session",
    "clip",
    "clip_by_scalar",
    "clip_by_value",
    "concat",
    "config",
    "consistent_user_op_builder",
    "constant",
    "constant_initializer",
    "constant_like",
    "constant_scalar",
    "convert_oneflow_dtype_to_numpy_dtype",
    "current_scope",
    "data",
    "distribute",
    "double",
    "dtype",
    "dtypes",
    "eager_execution_enabled",
    "elem_cnt",
    "empty_initializer",
    "enable_eager_execution",
    "env",
    "expand_dims",
    "experimental",
    "flatten",
    "float",
    "float16",
    "float32",
    "float64",
    "function_config",
    "gather",
    "gather_nd",
    "gelu",
    "get_all_variables",
    "get_variable",
    "global_function",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "hierarchical_parallel_cast",
    "identity",
    "initializers",
    "int",
    "int32",
    "int64",
    "int8",
    "kaiming_initializer",
    "layers",
    "linalg",
    "load_variables",
    "losses",
    "math",
    "matmul",
    "nn",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "optimizer",
    "pad",
    "parallel_cast",
    "random_normal_initializer",
    "random_uniform_initializer",
    "range",
    "record",
    "regularizers",
    "relu",
    "reshape",
    "reshape_like",
    "reverse",
    "scatter_nd",
    "scope",
    "sigmoid",
    "slice",
    "slice_v2",
    "split",
    "squeeze",
    "stack",
    "tanh",
    "tensor_buffer",
    "train",
    "transpose",
    "truncated_normal",
    "truncated_normal_initializer",
    "typing",
    "uint8",
    "unittest",
    "user_op_builder",
    "util",
    "variance_scaling_initializer",
    "watch",
    "watch_diff",
    "where",
    "xavier_normal_initializer",
    "xavier_uniform_initializer",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]


def current_scope() -> Any:
    """Return the current scope: there is one device."""
    return scope


__getattr__ = guard("flow", __all__, otherwise="see the OneFlow page of the docs")
