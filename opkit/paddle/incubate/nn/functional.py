"""Functions whose GPU kernels Paddle fuses; here they are composed of plain ops."""

from __future__ import annotations

from typing import Any

from opkit.paddle.nn.functional import dropout
from opkit.paddle.nn.functional import gelu as _gelu
from opkit.paddle.nn.functional import relu as _relu
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard

__all__ = ["fused_dropout_add", "fused_linear", "fused_linear_activation", "fused_matmul_bias"]


def fused_matmul_bias(
    x: Any, y: Any, bias: Any = None, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Any:
    """Return the matrix product of two tensors, and a bias where one is given."""
    product = ops.matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else ops.add(product, bias)


def fused_linear(x: Any, weight: Any, bias: Any = None, transpose_weight: bool = False, name: str | None = None) -> Any:
    """Return ``x @ weight + bias``."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(
    x: Any, y: Any, bias: Any, trans_x: bool = False, trans_y: bool = False, activation: str | None = None
) -> Any:
    """Return the product and the bias through "gelu" (of tanh), "relu", or neither."""
    result = fused_matmul_bias(x, y, bias, trans_x, trans_y)
    if activation == "gelu":
        return _gelu(result, approximate=True)
    return _relu(result) if activation == "relu" else result


def fused_dropout_add(
    x: Any, y: Any, p: float = 0.5, training: bool = True, mode: str = "upscale_in_train", name: str | None = None
) -> Any:
    """Return ``dropout(x) + y``."""
    return ops.add(dropout(x, p, training=training, mode=mode), y)


__getattr__ = guard(__name__, globals())
