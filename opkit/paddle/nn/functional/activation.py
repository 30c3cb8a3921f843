"""Activations."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.ops.composed import layers
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import needed, of_one
from opkit.paddle.tensor.inplace import INPLACE, in_place
from opkit.paddle.tensor.math import UNARY
from opkit.shim.missing import guard as _guard

__all__ = [
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "leaky_relu_",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanh",
    "tanh_",
    "tanhshrink",
    "thresholded_relu",
]

sigmoid = UNARY["sigmoid"]
tanh = UNARY["tanh"]
tanh_ = INPLACE["tanh_"]


relu = of_one("relu", ops.relu)
relu6 = of_one("relu6", ops.relu6)
silu = of_one("silu", ops.silu)
mish = of_one("mish", ops.mish)
swish = of_one("swish", ops.silu)
softsign = of_one("softsign", ops.softsign)
log_sigmoid = of_one("log_sigmoid", ops.log_sigmoid)
hardswish = of_one("hardswish", ops.hardswish)
tanhshrink = of_one("tanhshrink", ops.tanhshrink)


relu_ = in_place(relu)


def elu(x: Any, alpha: float = 1.0, name: Name = None) -> Any:
    """Return x where positive, else ``alpha * (exp(x) - 1)``."""
    if not hasattr(x, "_data"):
        needed(x)
    return ops.elu(x, alpha)


def selu(
    x: Any,
    scale: float = 1.0507009873554804934193349852946,
    alpha: float = 1.6732632423543772848170429916717,
    name: Name = None,
) -> Any:
    """Return ``scale * elu(x, alpha)``."""
    return ops.selu(needed(x), scale, alpha)


def gelu(x: Any, approximate: bool = False, name: Name = None) -> Any:
    """Return x times the normal distribution's Phi(x)."""
    return ops.gelu(needed(x), bool(approximate))


def leaky_relu(x: Any, negative_slope: float = 0.01, name: Name = None) -> Any:
    """Return x where positive, else ``negative_slope * x``."""
    if not hasattr(x, "_data"):
        needed(x)
    return ops.leaky_relu(x, negative_slope)


def prelu(x: Any, weight: Any, data_format: str = "NCHW", name: Name = None) -> Any:
    """Return x where positive, else ``weight * x``, the weight being one number or one per channel."""
    count = weight.shape[0]
    axis = None if count == 1 else 1 if data_format.startswith("NC") else x.ndim - 1
    return layers.leaky_by_channel(needed(x), weight, axis)


def glu(x: Any, axis: int = -1, name: Name = None) -> Any:
    """Return the first half of x along an axis times the sigmoid of the second."""
    return layers.glu(needed(x), axis)


def hardtanh(x: Any, min: float = -1.0, max: float = 1.0, name: Name = None) -> Any:
    """Return x cut off at ``min`` and ``max``."""
    if not hasattr(x, "_data"):
        needed(x)
    return ops.hardtanh(x, min, max)


def hardsigmoid(x: Any, slope: float = 0.1666667, offset: float = 0.5, name: Name = None) -> Any:
    """Return ``slope * x + offset`` cut off at 0 and 1."""
    if not hasattr(x, "_data"):
        needed(x)
    return ops.ramp(x, slope, offset)


def hardshrink(x: Any, threshold: float = 0.5, name: Name = None) -> Any:
    """Return x where its absolute value exceeds the threshold, else 0."""
    return ops.hardshrink(needed(x), float(threshold))


def softshrink(x: Any, threshold: float = 0.5, name: Name = None) -> Any:
    """Return x moved towards 0 by the threshold."""
    return ops.softshrink(needed(x), float(threshold))


def thresholded_relu(x: Any, threshold: float = 1.0, name: Name = None) -> Any:
    """Return x where it exceeds the threshold, else 0."""
    return ops.thresholded_relu(needed(x), float(threshold))


def softplus(x: Any, beta: float = 1, threshold: float = 20, name: Name = None) -> Any:
    """Return ``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` exceeds the threshold."""
    return layers.scaled_softplus(needed(x), beta, threshold)


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else ops.cast(x, canonical_dtype(dtype))


def softmax(x: Any, axis: int = -1, dtype: Any = None, name: Name = None) -> Any:
    """Return exponentials along an axis, divided by their sum."""
    if not hasattr(x, "_data"):
        needed(x)
    return ops.softmax(x if dtype is None else _cast(x, dtype), axis)


def log_softmax(x: Any, axis: int = -1, dtype: Any = None, name: Name = None) -> Any:
    """Return the logarithm of softmax."""
    return ops.log_softmax(_cast(needed(x), dtype), axis)


# ---- in place --------------------------------------------------------------------------------------------------------
elu_ = in_place(elu)


leaky_relu_ = in_place(leaky_relu)


# ---- groups, chance --------------------------------------------------------------------------------------------------


def gumbel_softmax(x: Any, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: Name = None) -> Any:
    """Return softmax of x and Gumbel noise over a temperature; ``hard``: one-hot, with the gradient of the soft one.

    Source: Jang et al. 2017, "Categorical reparameterization with Gumbel-softmax".
    """
    needed(x)
    if temperature <= 0:
        raise UsageError(f"gumbel_softmax: the temperature must be positive, got {temperature}")
    return layers.gumbel_softmax(x, float(temperature), axis, hard=hard)


__getattr__ = _guard(globals())
