"""Normalisation layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import ShapeError
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant
from opkit.paddle.nn.layer.layers import Layer

__all__ = ["BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "LayerNorm"]


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
        return text if self._format.startswith("NC") else f"{text}, data_format={self._format}"


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
