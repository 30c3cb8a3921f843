"""``paddle.base.core``: the few names of Paddle's C++ core that scripts touch."""

from __future__ import annotations

from opkit.paddle.framework.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, is_compiled_with_cuda
from opkit.paddle.semantics.scope_tensor import ScopeTensor as LoDTensor
from opkit.shim.missing import guard
from opkit.static import Scope

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "LoDTensor",
    "Scope",
    "get_cuda_device_count",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
]


class EOFException(Exception):
    """A reader has no more data."""


def get_cuda_device_count() -> int:
    """Return the number of GPUs: none."""
    return 0


def is_compiled_with_rocm() -> bool:
    """Say whether there is support for AMD's GPUs: no."""
    return False


def is_compiled_with_xpu() -> bool:
    """Say whether there is support for XPUs: no."""
    return False


__getattr__ = guard(__name__, globals())
