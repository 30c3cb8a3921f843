"""OneFlow v0.4's names over opkit's runtime: what ``import oneflow as flow`` gives under ``opkit run``.

A module is imported when one of its names is first asked for. The stub beside this file tells type checkers the same; a
test holds both equal, and writes it.
"""

from typing import Any as _Any

from opkit.deferred import deferred as _deferred
from opkit.deferred import imported as _imported
from opkit.ir import adopt as _adopt
from opkit.oneflow.semantics.dialect import ONEFLOW as _ONEFLOW
from opkit.shim.missing import guard as _guard

__version__ = "0.4.0"

# Blobs outside jobs are OneFlow's too, unless Paddle is in use: then they are Paddle's Tensors.
_adopt(_ONEFLOW, unless_adopted=True)

#: module below this one -> its names that are here too
_FAMILIES = {
    "array": (
        "assign broadcast_like broadcast_to_compatible_with cast concat constant constant_like expand "
        "expand_dims flatten gather gather_nd one_hot ones ones_like pad range reshape reshape_like reverse "
        "scatter_nd slice slice_v2 split squeeze stack transpose where zeros zeros_like"
    ),
    "initializers": (
        "constant_initializer glorot_normal_initializer glorot_uniform_initializer "
        "kaiming_initializer ones_initializer random_normal_initializer random_uniform_initializer regularizers "
        "truncated_normal truncated_normal_initializer variance_scaling_initializer xavier_normal_initializer "
        "xavier_uniform_initializer zeros_initializer"
    ),
    "job": "eager_execution_enabled enable_eager_execution global_function",
    "job_config": "FunctionConfig current_global_function_desc",
    "linalg": "matmul",
    "math": "clip_by_value gelu relu sigmoid tanh",
    "nn.losses": "combined_margin_loss smooth_l1_loss",
    "padding": "pad_grad reflection_pad2d",
    "passing": (
        "amp_white_identity cast_to_current_logical_view cast_to_static_shape hierarchical_parallel_cast identity "
        "identity_n parallel_cast"
    ),
    "places": (
        "argsort argwhere diag dim_gather masked_fill nonzero "
        "slice_update sort tensor_scatter_nd_update "
        "unsorted_batch_segment_sum unsorted_segment_sum unsorted_segment_sum_like"
    ),
    "scalar_types": (
        "DType bool char convert_oneflow_dtype_to_numpy_dtype double dtypes float float16 float32 float64 "
        "int32 int64 int8 record tensor_buffer uint8"
    ),
    "scope": "current_scope",
    "session": "clear_default_session sync_default_session",
    "typing": "FixedTensorDef",
    "user_op": "user_op_builder",
    "variable": "checkpoint get_all_variables get_variable load_variables train",
    "watching": "losses watch watch_diff",
}
_ALIASES = {
    "ExecutionConfig": "FunctionConfig",
    "clip": "clip_by_value",
    "clip_by_scalar": "clip_by_value",
    "consistent_user_op_builder": "user_op_builder",
    "dtype": "DType",
    "function_config": "FunctionConfig",
    "int": "int32",
}
_HOMES = {name: home for home, names in _FAMILIES.items() for name in names.split()}
#: modules that are names themselves
_MODULES = (
    *("advanced", "config", "data", "distribute", "env", "experimental", "initializers", "layers", "linalg", "math"),
    *("nn", "optimizer", "profiler", "random", "scope", "sysconfig", "typing", "unittest", "util"),
)
__all__ = [*_HOMES, *_ALIASES, *_MODULES]

#: What v0.4 has of dynamic mode here; the rest is in ``oneflow.experimental``.
_HOMES |= dict.fromkeys(("Size", "Tensor", "builtin_op", "device", "load", "no_grad", "save", "tensor"), "experimental")
_find = _deferred(__name__, _HOMES)
_missing = _guard("flow", [*_HOMES, *_ALIASES, *_MODULES], otherwise="see the OneFlow page of the docs")


def __getattr__(name: str) -> _Any:
    if name in _HOMES or name in _ALIASES:
        return _find(_ALIASES.get(name, name))
    return _imported(f"{__name__}.{name}") if name in _MODULES else _missing(name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
