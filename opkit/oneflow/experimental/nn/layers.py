"""Layers with parameters, pooling, resizing, dropout (``oneflow.experimental.nn``, v0.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opkit import ops as plain
from opkit.errors import ShapeError, UsageError
from opkit.oneflow import array, nn
from opkit.oneflow import layers as flow_layers
from opkit.oneflow.experimental.nn.init import kaiming_uniform_, normal_, uniform_
from opkit.oneflow.experimental.nn.module import Module, Parameter
from opkit.oneflow.experimental.tensors import Tensor, lifted
from opkit.oneflow.semantics import builders as ops
from opkit.ops.core.types import Ints, Name

__all__ = [
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]

Sizes = int | Ints


def _pair(given: Sizes) -> list[int]:
    return [given] * 2 if isinstance(given, int) else [int(item) for item in given]


class Identity(Module):
    """The input itself; arguments are accepted and not used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Flatten(Module):
    """The axes from ``start_dim`` to ``end_dim`` joined."""

    _shown = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Any:
        """Return the result."""
        return lifted(array.flatten)(input, self.start_dim, self.end_dim)


class Linear(Module):
    """``x @ weight.T + bias``; weight (out_features, in_features), bias (out_features,)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(Tensor(out_features, in_features))
        kaiming_uniform_(self.weight, math.sqrt(5))
        bound = 1 / math.sqrt(in_features)
        self.bias = Parameter(uniform_(Tensor(out_features), -bound, bound)) if bias else None

    def forward(self, x: Tensor) -> Any:
        """Return the result."""

        def product(value: Any, weight: Any, bias: Any) -> Any:
            out = ops.matmul(value, weight, False, True)
            return out if bias is None else ops.add(out, bias)

        return lifted(product)(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Conv2d(Module):
    """Images convolved with filters; weight (out_channels, in_channels / groups, height, width), bias a vector."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise UsageError(f"flow.nn.Conv2d: padding_mode is 'zeros', as in OneFlow v0.4, got {padding_mode!r}")
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise UsageError(f"flow.nn.Conv2d: groups {groups} must divide {in_channels} and {out_channels} channels")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding = _pair(kernel_size), _pair(stride), _pair(padding)
        self.dilation = _pair(dilation)
        self.weight = Parameter(Tensor(out_channels, in_channels // groups, *self.kernel_size))
        kaiming_uniform_(self.weight, math.sqrt(5))
        bound = 1 / math.sqrt(in_channels // groups * math.prod(self.kernel_size))
        self.bias = Parameter(uniform_(Tensor(out_channels), -bound, bound)) if bias else None

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        around = [[0, 0], [0, 0], *([side, side] for side in self.padding)]

        def convolved(value: Any, weight: Any, bias: Any) -> Any:
            out = nn.conv2d(value, weight, self.stride, around, "NCHW", self.dilation, self.groups)
            return out if bias is None else nn.bias_add(out, bias)

        return lifted(convolved)(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class _Pool2d(Module):
    """What both kinds of pooling share."""

    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, ceil_mode: bool) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = self.kernel_size if stride is None else _pair(stride)
        self.padding, self.ceil_mode = _pair(padding), ceil_mode

    @property
    def _around(self) -> list[list[int]]:
        return [[0, 0], [0, 0], *([side, side] for side in self.padding)]


class MaxPool2d(_Pool2d):
    """The largest element of each window of images."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        if _pair(dilation) != [1, 1] or return_indices:
            raise UsageError("flow.nn.MaxPool2d: dilation and return_indices are not supported, as in OneFlow v0.4")
        super().__init__(kernel_size, stride, padding, ceil_mode)

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        return lifted(nn.max_pool2d)(x, self.kernel_size, self.stride, self._around, "NCHW", self.ceil_mode)


class AvgPool2d(_Pool2d):
    """The mean of each window of images, padding left out."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool | None = None,
        divisor_override: int | None = None,
        name: Name = None,
    ) -> None:
        if count_include_pad is not None or divisor_override is not None:
            raise UsageError(
                "flow.nn.AvgPool2d: count_include_pad and divisor_override are not supported, as in OneFlow v0.4"
            )
        super().__init__(kernel_size, stride, padding, ceil_mode)

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        return lifted(nn.avg_pool2d)(x, self.kernel_size, self.stride, self._around, "NCHW", self.ceil_mode)


class _BatchNorm(Module):
    """What batch normalisation of any rank shares."""

    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(Tensor(num_features).fill_(1)) if affine else None
        self.bias = Parameter(Tensor(num_features)) if affine else None
        self.register_buffer("running_mean", Tensor(num_features) if track_running_stats else None)
        self.register_buffer("running_var", Tensor(num_features).fill_(1) if track_running_stats else None)

    def forward(self, x: Tensor) -> Any:
        """Return the result; training moves the running statistics by ``momentum`` towards the batch's."""
        if x.ndim not in self._ranks or x.shape[1] != self.num_features:
            raise ShapeError(
                f"flow.nn.{type(self).__name__} takes (batch, {self.num_features}, ...) of "
                f"{' or '.join(map(str, self._ranks))} axes, got shape {tuple(x.shape)}"
            )
        if not self.training and self.track_running_stats:
            mean, variance = self.running_mean, self.running_var
        else:
            mean, variance = lifted(nn.moments)(x, [axis for axis in range(x.ndim) if axis != 1])
        if self.training and self.track_running_stats:
            for held, now in ((self.running_mean, mean), (self.running_var, variance)):
                held.copy_((1 - self.momentum) * held.numpy() + self.momentum * now.numpy())
        return lifted(nn.batch_normalization)(x, mean, variance, self.bias, self.weight, self.eps, 1)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"


class BatchNorm1d(_BatchNorm):
    """Channels of (batch, channels) or (batch, channels, width) normalised over the batch."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Channels of (batch, channels, height, width) normalised over the batch."""

    _ranks = (4,)


class LayerNorm(Module):
    """Samples normalised over their last axes; weight and bias have these axes' shape."""

    def __init__(self, normalized_shape: Sizes, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(int(size) for size in normalized_shape)
        )
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(Tensor(*self.normalized_shape).fill_(1)) if elementwise_affine else None
        self.bias = Parameter(Tensor(*self.normalized_shape)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        begin = x.ndim - len(self.normalized_shape)
        if begin < 0 or tuple(x.shape[begin:]) != self.normalized_shape:
            raise ShapeError(f"flow.nn.LayerNorm of {self.normalized_shape} got shape {tuple(x.shape)}")
        return lifted(nn.layer_norm)(x, self.weight, self.bias, begin, begin, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class Dropout(Module):
    """Elements set to 0 with probability ``p`` while training, the rest divided by ``1 - p``."""

    _shown = ("p",)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise UsageError(f"flow.nn.Dropout: p is a probability, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        return lifted(plain.dropout)(x, self.p) if self.training and self.p else x


class Embedding(Module):
    """Rows of a table by their numbers; weight (num_embeddings, embedding_dim)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float | None = None,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
    ) -> None:
        super().__init__()
        if max_norm is not None or norm_type is not None or scale_grad_by_freq or sparse:
            raise UsageError(
                "flow.nn.Embedding: max_norm, norm_type, scale_grad_by_freq and sparse are not supported, as in "
                "OneFlow v0.4"
            )
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        table = normal_(Tensor(num_embeddings, embedding_dim)) if _weight is None else _weight
        self.weight = Parameter(table)
        if _weight is None and padding_idx is not None:
            self.weight._value._data[padding_idx] = 0

    def forward(self, indices: Tensor) -> Any:
        """Return the rows."""

        def rows(table: Any, numbers: Any) -> Any:
            return ops.gather(table, numbers, 0)

        return lifted(rows)(self.weight, indices)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Upsample(Module):
    """Images of another size: ``size`` (height, width), or ``scale_factor`` times theirs; "nearest" or "bilinear"."""

    _shown = ("size", "scale_factor", "mode")

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ValueError("flow.nn.Upsample takes size or scale_factor")
        if mode not in ("nearest", "bilinear"):
            raise ValueError(f"flow.nn.Upsample: mode is nearest or bilinear, got {mode!r}")
        if mode == "nearest" and align_corners:
            raise ValueError("flow.nn.Upsample: align_corners needs mode='bilinear'")
        self.size = None if size is None else _pair(size)
        factors = [scale_factor] * 2 if isinstance(scale_factor, (int, float)) else scale_factor
        self.scale_factor = None if factors is None else list(factors)
        self.mode, self.align_corners = mode, bool(align_corners)

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        if x.ndim != 4:
            raise ShapeError(f"flow.nn.Upsample takes (batch, channels, height, width), got shape {tuple(x.shape)}")
        factors = self.scale_factor
        if factors is None:
            assert self.size is not None
            factors = [wanted / size for wanted, size in zip(self.size, x.shape[2:])]
        return lifted(flow_layers.upsample_2d)(x, factors, self.align_corners, "NCHW", self.mode)


class UpsamplingNearest2d(Upsample):
    """Images of another size, each pixel that of the nearest."""

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images of another size, each pixel between its neighbours, the corners kept."""

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
