"""Normalisation layers without running statistics: per sample, per group, of a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError, UsageError
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant, Normal
from opkit.paddle.nn.layer.declared import RankedLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard as _guard

__all__ = ["GroupNorm", "InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D", "LayerNorm", "SpectralNorm"]


def _check_channels(layer: Layer, count: int, x: Any) -> None:
    if x.shape[1] not in (-1, count):
        raise ShapeError(f"{type(layer).__name__} is for {count} channels, got {list(x.shape)}")


class LayerNorm(Layer):
    """Normalises over the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: Name = None,
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
        name: Name = None,
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
        _check_channels(self, self._channels, x)
        flat = ops.reshape(x, [0, self._groups, -1])
        normal = ops.reshape_like(ops.layer_norm(flat, axis=2, epsilon=self._epsilon)[0], x)
        others = (0, *range(2, len(x.shape)))
        normal = ops.mul(normal, ops.broadcast_like(self.weight, x, others))
        normal = ops.add(normal, ops.broadcast_like(self.bias, x, others))
        return normal if first else ops.transpose(normal, [0, *range(2, last + 1), 1])

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"num_groups={self._groups}, num_channels={self._channels}, epsilon={self._epsilon}"


@declared
class _InstanceNorm(RankedLayer):
    _shown = ("num_features", "epsilon")
    num_features: int
    epsilon: float = 1e-05
    momentum: float = 0.9
    weight_attr: Any = None
    bias_attr: Any = None
    data_format: str = "NCHW"
    name: Name = None

    def __post_init__(self) -> None:
        if (self.weight_attr is False) != (self.bias_attr is False):
            raise UsageError(f"{type(self).__name__}: weight_attr and bias_attr must both be False, or neither")
        count = self.num_features
        self.scale = self.create_parameter([count], self.weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([count], self.bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        """Normalise."""
        self._check_rank(input)
        _check_channels(self, self.num_features, input)
        return functional.instance_norm(input, weight=self.scale, bias=self.bias, eps=self.epsilon)


@declared
class InstanceNorm1D(_InstanceNorm, ranks=(2, 3)):
    """Normalises (N, C, L) per sample and channel."""

    data_format: str = "NCL"


class InstanceNorm2D(_InstanceNorm, ranks=(4,)):
    """Normalises (N, C, H, W) per sample and channel."""


@declared
class InstanceNorm3D(_InstanceNorm, ranks=(5,)):
    """Normalises (N, C, D, H, W) per sample and channel."""

    data_format: str = "NCDHW"


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
        if local.mode.is_static:
            return self._in_a_graph(x, matrix)
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

    def _in_a_graph(self, x: Any, matrix: Any) -> Any:
        """Append the same; a graph's vectors keep their first values, as in Paddle 2.6."""
        fixed = ops.identity(matrix)
        fixed.stop_gradient = True
        u, v = self.weight_u, self.weight_v
        for _ in range(self._iterations):
            v = self._normal(ops.matmul(ops.transpose(fixed), u))
            u = self._normal(ops.matmul(fixed, v))
        return ops.div(x, ops.reduce_sum(ops.mul(u, ops.matmul(matrix, v))))

    def _normal(self, vector: Any) -> Any:
        return ops.div(vector, ops.add(ops.norm(vector), self._eps))


__getattr__ = _guard(globals())
