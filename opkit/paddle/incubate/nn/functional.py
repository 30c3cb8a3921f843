"""Functions whose GPU kernels Paddle fuses; here they are composed of plain ops."""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard

__all__ = ["fused_linear", "fused_matmul_bias"]


def fused_matmul_bias(
    x: Any, y: Any, bias: Any = None, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Any:
    """Return the matrix product of two tensors, and a bias where one is given."""
    product = ops.matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else ops.add(product, bias)


def fused_linear(x: Any, weight: Any, bias: Any = None, transpose_weight: bool = False, name: str | None = None) -> Any:
    """Return ``x @ weight + bias``."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


__getattr__ = guard(__name__, globals())
