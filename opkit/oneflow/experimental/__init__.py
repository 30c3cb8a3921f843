"""``flow.experimental`` (v0.4): op directories, ops to be tried out, and tensors and modules of dynamic mode.

Modules and functions of dynamic mode are imported when they are first asked for.
"""

from __future__ import annotations

from typing import Any

from opkit.oneflow.experimental.op_module import CustomOpModule, custom_op_module
from opkit.shim.missing import guard


def enable_typing_check(val: bool = True) -> None:
    """Accepted without effect: annotations of jobs are always checked."""


def InitEagerGlobalSession() -> None:
    """Accepted without effect: dynamic mode needs no session."""


_HERE = "opkit.oneflow.experimental"
_ON_GRAPHS = ("get_interface_blob_value", "logical_slice", "set_interface_blob_value", "unique_with_counts")
_FUNCTIONS = (
    *("Size", "Tensor", "device", "tensor"),
    *("abs", "add", "arange", "arcsin", "arcsinh", "argmax", "argwhere", "asin", "asinh", "broadcast_like", "cast"),
    *("cat", "cos", "cosh", "div", "eq", "equal", "exp", "expand", "flatten", "gather", "gelu", "gt", "log", "lt"),
    *("masked_fill", "matmul", "mean", "mul", "neg", "negative", "no_grad", "ones", "ones_like", "permute", "pow"),
    *("reciprocal", "repeat", "reshape", "rsqrt", "sigmoid", "sin", "slice", "slice_update", "softmax", "sqrt"),
    *("square", "squeeze", "std", "sub", "sum", "tanh", "to", "transpose", "unsqueeze", "var", "where", "zeros"),
    *("load", "save", "zeros_like"),
)
__all__ = ["CustomOpModule", "InitEagerGlobalSession", "custom_op_module", "enable_typing_check", *_ON_GRAPHS]
#: name -> the module that has it, imported when the name is first asked for
_LATER = {
    **dict.fromkeys(_ON_GRAPHS, f"{_HERE}.graph_ops"),
    **dict.fromkeys(_FUNCTIONS, f"{_HERE}.functions"),
    "builtin_op": f"{_HERE}.op_functions",
    "nn": f"{_HERE}.nn",
    "optim": f"{_HERE}.optim",
}
_missing = guard(_HERE, [*__all__, *_LATER], later=_LATER)


def __getattr__(name: str) -> Any:
    """Return what dynamic mode has under a name, else what ``oneflow`` has: v0.4 lists all of it here too."""
    if name not in _LATER:
        import opkit.oneflow as flow

        if name in flow.__all__ or (name in vars(flow) and not name.startswith("_")):
            return getattr(flow, name)
    return _missing(name)
