"""Normalisation layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit import ops
from opkit.errors import ShapeError, UsageError
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant, Normal
from opkit.paddle.nn.layer.layers import Layer

__all__ = [
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BatchNorm3D",
    "GroupNorm",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "LayerNorm",
    "LocalResponseNorm",
    "SpectralNorm",
    "SyncBatchNorm",
]


class LayerNorm(Layer):
    """Normalises over the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        self._shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        count = int(np.prod(self._shape))
        self.weight = self.create_parameter([count], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([count], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        """Normalise."""
        return functional.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"normalized_shape={self._shape}, epsilon={self._epsilon}"


class _BatchNorm(Layer):
    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        self._count, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._format, self._global = data_format, use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self._mean = self._statistic(0.0)
        self._variance = self._statistic(1.0)

    def _statistic(self, value: float) -> Any:
        attr = ParamAttr(initializer=Constant(value), trainable=False)
        return self.create_parameter([self._count], attr)

    def forward(self, input: Any) -> Any:
        """Normalise; while training, update the running statistics."""
        if self._ranks and len(input.shape) not in self._ranks:
            raise ShapeError(
                f"{type(self).__name__} takes tensors of {' or '.join(map(str, self._ranks))} axes, "
                f"got {list(input.shape)}"
            )
        return functional.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self._momentum,
            self._epsilon,
            self._layout(),
            self._global,
        )

    def _layout(self) -> str:
        return self._format

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"num_features={self._count}, momentum={self._momentum}, epsilon={self._epsilon}"
        return text if self._format == "NCHW" else f"{text}, data_format={self._format}"


class BatchNorm1D(_BatchNorm):
    """Normalises (N, C) or (N, C, L) per channel."""

    _ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats)


class BatchNorm2D(_BatchNorm):
    """Normalises (N, C, H, W) per channel."""

    _ranks = (4,)


class BatchNorm3D(_BatchNorm):
    """Normalises (N, C, D, H, W) per channel."""

    _ranks = (5,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats)

    def _layout(self) -> str:
        return "NCHW" if self._format.startswith("NC") else "NHWC"


class BatchNorm(_BatchNorm):
    """Normalises per channel, with the arguments that Paddle 1 had.

    Args:
        num_channels: number of channels.
        act: an activation's name to apply afterwards, or None.
        is_test: never use the batch's statistics.
        momentum: of the running statistics.
        epsilon: added to the variance.
        param_attr: how the scale is made.
        bias_attr: how the shift is made.
        dtype: of the parameters.
        data_layout: where the channels stand.
        in_place: accepted, without effect.
        moving_mean_name: accepted, without effect.
        moving_variance_name: accepted, without effect.
        do_model_average_for_mean_and_var: accepted, without effect.
        use_global_stats: normalise by the running statistics in training too.
        trainable_statistics: use the batch's statistics in evaluation too.
    """

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: str = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        super().__init__(num_channels, momentum, epsilon, param_attr, bias_attr, data_layout)
        self._act = act
        self._fixed = is_test or use_global_stats
        self._batch_always = trainable_statistics

    def forward(self, input: Any) -> Any:
        """Normalise, and apply the activation."""
        uses_batch = (self.training or self._batch_always) and not self._fixed
        result = functional.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            uses_batch,
            self._momentum,
            self._epsilon,
            self._format,
        )
        return result if self._act is None else getattr(functional, self._act)(result)


class SyncBatchNorm(_BatchNorm):
    """Normalises per channel; on one machine, what BatchNorm does."""

    @classmethod
    def convert_sync_batchnorm(cls, layer: Any) -> Any:
        """Return a layer in which every batch norm became one of this kind, with its parameters."""
        if isinstance(layer, _BatchNorm) and not isinstance(layer, SyncBatchNorm):
            made = cls(layer._count, layer._momentum, layer._epsilon, data_format=layer._format)
            made.weight, made.bias = layer.weight, layer.bias
            made._mean, made._variance = layer._mean, layer._variance
            return made
        for name, part in list(layer._sub_layers.items()):
            layer._sub_layers[name] = cls.convert_sync_batchnorm(part)
        return layer


# ---- without running statistics --------------------------------------------------------------------------------------
class GroupNorm(Layer):
    """Normalises per sample over groups of channels (Wu and He 2018)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        if num_channels % num_groups:
            raise UsageError(f"GroupNorm: {num_channels} channels are not divisible by {num_groups} groups")
        self._groups, self._channels, self._epsilon, self._format = num_groups, num_channels, epsilon, data_format
        self.weight = self._fixed_or_trained([num_channels], weight_attr, Constant(1.0))
        self.bias = self._fixed_or_trained([num_channels], bias_attr, Constant(0.0), is_bias=True)

    def forward(self, input: Any) -> Any:
        """Normalise."""
        first = self._format.startswith("NC")
        last = len(input.shape) - 1
        x = input if first else ops.transpose(input, [0, last, *range(1, last)])
        flat = ops.reshape(x, [0, self._groups, -1])
        normal = ops.reshape_like(ops.layer_norm(flat, axis=2, epsilon=self._epsilon)[0], x)
        others = (0, *range(2, len(x.shape)))
        normal = ops.mul(normal, ops.broadcast_like(self.weight, x, others))
        normal = ops.add(normal, ops.broadcast_like(self.bias, x, others))
        return normal if first else ops.transpose(normal, [0, *range(2, last + 1), 1])

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"num_groups={self._groups}, num_channels={self._channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        self._count, self._epsilon = num_features, epsilon
        if (weight_attr is False) != (bias_attr is False):
            raise UsageError(f"{type(self).__name__}: weight_attr and bias_attr are False together or not at all")
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        """Normalise."""
        if len(input.shape) not in self._ranks:
            raise ShapeError(
                f"{type(self).__name__} takes tensors of {' or '.join(map(str, self._ranks))} axes, "
                f"got {list(input.shape)}"
            )
        return functional.instance_norm(input, weight=self.scale, bias=self.bias, eps=self._epsilon)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"num_features={self._count}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNorm):
    """Normalises (N, C, L) per sample and channel."""

    _ranks = (2, 3)


class InstanceNorm2D(_InstanceNorm):
    """Normalises (N, C, H, W) per sample and channel."""

    _ranks = (4,)


class InstanceNorm3D(_InstanceNorm):
    """Normalises (N, C, D, H, W) per sample and channel."""

    _ranks = (5,)


class LocalResponseNorm(Layer):
    """Divides by the squares of neighbouring channels (Krizhevsky et al. 2012)."""

    def __init__(
        self,
        size: int,
        alpha: float = 0.0001,
        beta: float = 0.75,
        k: float = 1.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k, self.data_format = size, alpha, beta, k, data_format

    def forward(self, input: Any) -> Any:
        """Normalise."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k, self.data_format)

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
        return text if self.data_format == "NCHW" else f"{text}, data_format={self.data_format}"


class SpectralNorm(Layer):
    """Divides a weight by its largest singular value, found by power iteration (Miyato et al. 2018).

    Args:
        weight_shape: of the weight.
        dim: the axis that counts as the matrix's rows.
        power_iters: steps at each call.
        eps: keeps the norms from 0.
        dtype: of the vectors.
    """

    def __init__(
        self, weight_shape: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, dtype: str = "float32"
    ) -> None:
        super().__init__(dtype=dtype)
        self._dim, self._iterations, self._eps = dim, power_iters, eps
        rows = int(weight_shape[dim])
        columns = int(np.prod(weight_shape)) // rows
        start = Normal(0.0, 1.0)
        self.weight_u = self.create_parameter([rows], default_initializer=start)
        self.weight_v = self.create_parameter([columns], default_initializer=start)
        self.weight_u.stop_gradient = self.weight_v.stop_gradient = True

    def forward(self, x: Any) -> Any:
        """Return the weight over its largest singular value."""
        order = [self._dim, *(k for k in range(len(x.shape)) if k != self._dim)]
        matrix = ops.reshape(ops.transpose(x, order), [x.shape[self._dim], -1])
        fixed = np.asarray(matrix.detach().numpy())
        u, v = self.weight_u.numpy(), self.weight_v.numpy()
        for _ in range(self._iterations):
            v = fixed.T @ u
            v /= np.linalg.norm(v) + self._eps
            u = fixed @ v
            u /= np.linalg.norm(u) + self._eps
        self.weight_u.set_value(u)
        self.weight_v.set_value(v)
        size = ops.reduce_sum(ops.mul(ops.literal(u), ops.matmul(matrix, ops.literal(v))))
        return ops.div(x, size)
