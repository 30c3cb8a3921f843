"""``paddle.base.core``: the few names of Paddle's C++ core that scripts touch."""

from __future__ import annotations

from opkit.paddle.framework.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    XPUPlace,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)
from opkit.paddle.framework.tracer import AmpLevel
from opkit.paddle.io.generated import EOFException
from opkit.paddle.semantics.dtypes import VarDesc
from opkit.paddle.semantics.scope_tensor import ScopeTensor as LoDTensor
from opkit.shim.missing import guard
from opkit.static import Scope

__all__ = [
    "AmpLevel",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "EOFException",
    "LoDTensor",
    "Scope",
    "VarDesc",
    "XPUPlace",
    "get_cuda_device_count",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_prim_eager_enabled",
    "supports_bfloat16",
]


def get_cuda_device_count() -> int:
    """Return the number of GPUs: none."""
    return 0


def supports_bfloat16() -> bool:
    """Return whether there are Tensors of bfloat16: no."""
    return False


def set_prim_eager_enabled(value: bool) -> None:
    """Do nothing: a gradient is always made of ops that have gradients themselves."""


__getattr__ = guard(globals())
