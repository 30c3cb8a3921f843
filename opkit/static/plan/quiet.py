"""Quiet kernels in plans: one errstate surrounds many of them, so each is called without its own."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.quiet import bare_kernel


def quiet_kernel(kernel: Any) -> Any:
    """Return what a quiet kernel runs inside, None for any other."""
    return bare_kernel(kernel)


def unquiet(kernel: Any) -> Any:
    """Return what a quiet kernel runs inside, any other as it is."""
    return bare_kernel(kernel) or kernel
