"""Batch normalisation layers: by the batch's statistics while training, by running ones in evaluation."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant
from opkit.paddle.nn.layer.declared import RankedLayer, declared

__all__ = ["BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm"]


@declared
class _RunningNorm(RankedLayer):
    """What batch norms share; ``use_global_stats`` and the layer's name come last, where a layer has them."""

    num_features: int
    momentum: float = 0.9
    epsilon: float = 1e-05
    weight_attr: Any = None
    bias_attr: Any = None
    data_format: str = "NCHW"

    def __post_init__(self) -> None:
        count = self.num_features
        self._momentum, self._epsilon = self.momentum, self.epsilon
        self.weight = self.create_parameter([count], self.weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([count], self.bias_attr, is_bias=True)
        self._mean = self._statistic(0.0)
        self._variance = self._statistic(1.0)

    def _statistic(self, value: float) -> Any:
        return self.create_parameter([self.num_features], ParamAttr(initializer=Constant(value), trainable=False))

    def _normalised(self, input: Any, training: bool, use_global_stats: bool | None) -> Any:
        parameters = self._mean, self._variance, self.weight, self.bias
        settings = self._momentum, self._epsilon, self.data_format, use_global_stats
        return functional.batch_norm(input, *parameters, training, *settings)

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"num_features={self.num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        return text if self.data_format == "NCHW" else f"{text}, data_format={self.data_format}"


@declared
class _BatchNorm(_RunningNorm):
    use_global_stats: bool | None = None
    name: Name = None

    def forward(self, input: Any) -> Any:
        """Normalise; while training, update the running statistics."""
        self._check_rank(input)
        return self._normalised(input, self.training, self.use_global_stats)


@declared
class BatchNorm1D(_BatchNorm, ranks=(2, 3)):
    """Normalises (N, C) or (N, C, L) per channel."""

    data_format: str = "NCL"


class BatchNorm2D(_BatchNorm, ranks=(4,)):
    """Normalises (N, C, H, W) per channel."""


@declared
class BatchNorm3D(_BatchNorm, ranks=(5,)):
    """Normalises (N, C, D, H, W) per channel."""

    data_format: str = "NCDHW"


class BatchNorm(_RunningNorm):
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
        result = self._normalised(input, uses_batch, None)
        return result if self._act is None else getattr(functional, self._act)(result)


@declared
class SyncBatchNorm(_RunningNorm):
    """Normalises per channel; on one machine, what BatchNorm does."""

    name: Name = None

    def forward(self, x: Any) -> Any:
        """Normalise; while training, update the running statistics."""
        return self._normalised(x, self.training, None)

    @classmethod
    def convert_sync_batchnorm(cls, layer: Any) -> Any:
        """Return a layer in which every batch norm became one of this kind, with its parameters."""
        if isinstance(layer, _RunningNorm) and not isinstance(layer, SyncBatchNorm):
            made = cls(layer.num_features, layer._momentum, layer._epsilon, data_format=layer.data_format)
            made.weight, made.bias = layer.weight, layer.bias
            made._mean, made._variance = layer._mean, layer._variance
            return made
        for name, part in list(layer._sub_layers.items()):
            layer._sub_layers[name] = cls.convert_sync_batchnorm(part)
        return layer
