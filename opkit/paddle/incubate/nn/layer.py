"""Layers whose GPU kernels Paddle fuses; here they are composed of plain ops."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.incubate.nn.functional import fused_linear
from opkit.paddle.nn import Layer
from opkit.shim.missing import guard

__all__ = ["FusedLinear"]


class FusedLinear(Layer):
    """``x @ weight + bias``, with the weight transposed where ``transpose_weight``."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        transpose_weight: bool = False,
        name: Name = None,
    ) -> None:
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.transpose_weight = transpose_weight

    def forward(self, input: Any) -> Any:
        """Return the product and the bias."""
        return fused_linear(input, self.weight, self.bias, self.transpose_weight)


__getattr__ = guard(globals())
