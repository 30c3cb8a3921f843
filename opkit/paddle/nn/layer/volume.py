"""Convolutions over one and three axes, products of pairs, further kinds of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Uniform
from opkit.paddle.nn.layer.common import Conv2DTranspose, ConvLayer
from opkit.paddle.nn.layer.layers import Layer

__all__ = [
    "AlphaDropout",
    "Bilinear",
    "Conv1DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "CosineSimilarity",
    "Dropout3D",
    "PairwiseDistance",
]


# ---- convolutions ----------------------------------------------------------------------------------------------------
class Conv3D(ConvLayer):
    """A 3-D convolution with a weight of (out_channels, in_channels / groups, depth, height, width)."""

    _spatial = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any) -> Any:
        """Apply the convolution."""
        x, settings = self._padded(x)
        return functional.conv3d(x, self.weight, self.bias, data_format=self._format, **settings)


class Conv1DTranspose(Conv2DTranspose):
    """A transposed 1-D convolution with a weight of (in_channels, out_channels / groups, length)."""

    _spatial = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Apply the transposed convolution."""
        return functional.conv1d_transpose(
            x,
            self.weight,
            self.bias,
            output_padding=self._output_padding,
            output_size=output_size,
            data_format=self._format,
            **self._settings,
        )


class Conv3DTranspose(Conv2DTranspose):
    """A transposed 3-D convolution with a weight of (in_channels, out_channels / groups, depth, height, width)."""

    _spatial = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Apply the transposed convolution."""
        return functional.conv3d_transpose(
            x,
            self.weight,
            self.bias,
            output_padding=self._output_padding,
            output_size=output_size,
            data_format=self._format,
            **self._settings,
        )


# ---- pairs -----------------------------------------------------------------------------------------------------------
class Bilinear(Layer):
    """``x1 @ weight[k] @ x2`` for each of the outputs, plus a bias."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
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


class CosineSimilarity(Layer):
    """The cosine of the angle between two tensors along an axis."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the cosines."""
        return functional.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"axis={self._axis}, eps={self._eps}"


class PairwiseDistance(Layer):
    """The p-norm of a difference along the last axis."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p, self.epsilon, self.keepdim = p, epsilon, keepdim

    def forward(self, x: Any, y: Any) -> Any:
        """Return the distances."""
        return functional.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"p={self.p}"
        if self.epsilon != 1e-6:
            text += f", epsilon={self.epsilon}"
        return text if not self.keepdim else f"{text}, keepdim={self.keepdim}"


# ---- dropout ---------------------------------------------------------------------------------------------------------
class Dropout3D(Layer):
    """Sets whole channels to 0 with probability p while training."""

    def __init__(self, p: float = 0.5, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format = p, data_format

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        return functional.dropout3d(input, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, data_format={self.data_format}"


class AlphaDropout(Layer):
    """Drops elements while training so that mean and variance stay (for SELU)."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Any) -> Any:
        """Drop elements while training."""
        return functional.alpha_dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}"
