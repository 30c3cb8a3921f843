"""Quiet kernels: those that numpy.errstate decorates, so that one errstate can stand around many of them."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.define import quiet

__all__ = ["quiet_kernel", "unquiet"]

_QUIET_CODE = quiet(lambda: None).__code__


def quiet_kernel(kernel: Any) -> Any:
    """Return what a kernel that numpy.errstate decorates runs inside, None for any other."""
    if getattr(kernel, "__code__", None) is _QUIET_CODE:
        return kernel.__wrapped__
    return None


def unquiet(kernel: Any) -> Any:
    """Return what a quiet kernel runs inside, any other as it is."""
    return quiet_kernel(kernel) or kernel
