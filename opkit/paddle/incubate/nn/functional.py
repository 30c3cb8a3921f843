"""Functions whose GPU kernels Paddle fuses; here they are composed of plain ops."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard

__all__ = ["fused_linear"]


def fused_linear(x: Any, weight: Any, bias: Any = None, transpose_weight: bool = False, name: Name = None) -> Any:
    """Return ``x @ weight + bias``."""
    product = ops.matmul(x, weight, False, transpose_weight)
    return product if bias is None else ops.add(product, bias)


__getattr__ = guard(globals())
