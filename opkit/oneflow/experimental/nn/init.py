"""``flow.nn.init``: filling tensors in place (v0.4)."""

from __future__ import annotations

import math

from opkit.errors import UsageError
from opkit.oneflow.experimental.tensors import Tensor
from opkit.oneflow.initializers import random_normal_initializer, random_uniform_initializer
from opkit.ops.kernels.initializer import fans, gain_of
from opkit.shim.missing import guard

__all__ = [
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return tensor.fill_(1)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return tensor.fill_(0)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Draw evenly from [a, b)."""
    return tensor.drawn_(random_uniform_initializer(a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draw from a normal distribution."""
    return tensor.drawn_(random_normal_initializer(mean, std))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, *, data_format: str = "NCHW") -> Tensor:
    """Draw evenly, with a spread for as many inputs and outputs as the tensor has."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor, data_format)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, *, data_format: str = "NCHW") -> Tensor:
    """Draw from a normal distribution, with a spread for as many inputs and outputs as the tensor has."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor, data_format))))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", *, data_format: str = "NCHW"
) -> Tensor:
    """Draw evenly, with a spread for as many inputs ("fan_in") or outputs ("fan_out") and a following activation."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity, data_format)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", *, data_format: str = "NCHW"
) -> Tensor:
    """Draw from a normal distribution, with the spread of ``kaiming_uniform_``."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity, data_format))


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str, data_format: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise UsageError(f"flow.nn.init: mode is fan_in or fan_out, got {mode!r}")
    fan = _fans(tensor, data_format)[mode == "fan_out"]
    return gain_of(nonlinearity, a) / math.sqrt(fan)


def _fans(tensor: Tensor, data_format: str) -> tuple[float, float]:
    """Return how many inputs an output has, and how many outputs an input."""
    return fans(tensor.shape, channels_first=data_format != "NHWC")


__getattr__ = guard(globals())
