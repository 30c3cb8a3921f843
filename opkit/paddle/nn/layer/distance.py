"""Layers of two inputs: products, angles and distances of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Uniform
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.shim.missing import guard as _guard

__all__ = ["Bilinear", "CosineSimilarity", "PairwiseDistance"]


class Bilinear(Layer):
    """``x1 @ weight[k] @ x2`` for each of the outputs, plus a bias."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: Name = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        self._sizes = in1_features, in2_features, out_features
        bound = 1 / float(np.sqrt(in1_features))
        start = Uniform(-bound, bound)
        self.weight = self.create_parameter(
            [out_features, in1_features, in2_features], weight_attr, default_initializer=start
        )
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True, default_initializer=start)

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the products."""
        return functional.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        first, second, out = self._sizes
        return f"in1_features={first}, in2_features={second}, out_features={out}, dtype={self._dtype}"


@declared
class CosineSimilarity(DeclaredLayer):
    """The cosine of the angle between two tensors along an axis."""

    axis: int = 1
    eps: float = 1e-8

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the cosines."""
        return functional.cosine_similarity(x1, x2, self.axis, self.eps)


@declared
class PairwiseDistance(DeclaredLayer):
    """The p-norm of a difference along the last axis."""

    p: float = 2.0
    epsilon: float = 1e-6
    keepdim: bool = False
    name: Name = None

    def forward(self, x: Any, y: Any) -> Any:
        """Return the distances."""
        return functional.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"p={self.p}"
        if self.epsilon != 1e-6:
            text += f", epsilon={self.epsilon}"
        return text if not self.keepdim else f"{text}, keepdim={self.keepdim}"


__getattr__ = _guard(globals())
