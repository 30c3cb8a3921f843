"""OneFlow's names for initializers and regularizers (``flow.zeros_initializer``, ``flow.regularizers.l2``, ...)."""

from __future__ import annotations

import math
from typing import Any

from opkit.ir import canonical_dtype, is_integer
from opkit.oneflow.scalar_types import float32
from opkit.ops.core.types import Ints
from opkit.ops.kernels import initializer as init
from opkit.ops.kernels.initializer import Initializer
from opkit.record import record


def constant_initializer(value: float = 0, dtype: Any = float32) -> Initializer:
    """Every element is ``value``."""
    return init.constant(value)


def zeros_initializer(dtype: Any = float32) -> Initializer:
    """Zeros."""
    return init.constant(0)


def ones_initializer(dtype: Any = float32) -> Initializer:
    """Ones."""
    return init.constant(1)


def random_uniform_initializer(minval: float = 0, maxval: float = 1, dtype: Any = float32) -> Initializer:
    """Uniform over [minval, maxval); whole numbers for an integer dtype."""
    return init.uniform(minval, maxval, is_integer=is_integer(canonical_dtype(dtype)))


def random_normal_initializer(
    mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None
) -> Initializer:
    """Normal with this mean and standard deviation; the same seed gives the same values."""
    return init.normal(mean, stddev, seed)


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal, redrawn beyond two standard deviations."""
    return init.truncated_normal(mean, stddev)


def truncated_normal(stddev: float = 1.0) -> Initializer:
    """Zero-mean normal, redrawn beyond two standard deviations."""
    return init.truncated_normal(0.0, stddev)


def variance_scaling_initializer(
    scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", data_format: str = ""
) -> Initializer:
    """Variance ``scale / fan``; ``data_format`` says which axis of a filter is its input channels."""
    return init.variance_scaling(scale, mode.lower(), distribution.lower(), channels_first=_channels_first(data_format))


def glorot_uniform_initializer(data_format: str = "") -> Initializer:
    """Glorot's uniform initializer."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_uniform", data_format)


def glorot_normal_initializer(data_format: str = "") -> Initializer:
    """Glorot's normal initializer."""
    return variance_scaling_initializer(1.0, "fan_avg", "random_normal", data_format)


xavier_uniform_initializer = glorot_uniform_initializer
xavier_normal_initializer = glorot_normal_initializer


def kaiming_initializer(
    shape: Ints,
    distribution: str = "random_normal",
    mode: str = "fan_in",
    nonlinearity: str | None = "leaky_relu",
    negative_slope: float = 0.0,
    data_format: str = "NCHW",
) -> Initializer:
    """He's initializer for a weight of this shape."""
    fan_in, fan_out = init.fans(shape, channels_first=_channels_first(data_format))
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
    std = init.gain_of(nonlinearity, negative_slope) / math.sqrt(fan)
    if distribution == "random_uniform":
        return init.uniform(-math.sqrt(3.0) * std, math.sqrt(3.0) * std)
    return init.normal(0.0, std)


@record
class Regularizer:
    """Weights of the L1 and L2 terms that a variable adds to its gradient: ``l1 * sign(w) + l2 * w``."""

    l1: float
    l2: float


class regularizers:
    """``flow.regularizers``."""

    @staticmethod
    def l1(l: float = 0.01) -> Regularizer:  # noqa: E741
        """``l * |w|`` on the loss."""
        return Regularizer(l, 0.0)

    @staticmethod
    def l2(l: float = 0.01) -> Regularizer:  # noqa: E741
        """``l / 2 * w**2`` on the loss."""
        return Regularizer(0.0, l)

    @staticmethod
    def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
        """Both terms."""
        return Regularizer(l1, l2)


def _channels_first(data_format: str) -> bool:
    return not (data_format.startswith("N") and data_format.endswith("C") and data_format != "NC")
