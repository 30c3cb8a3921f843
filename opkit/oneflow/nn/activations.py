"""Activations, softmax, dropout and what is fused of them (``flow.nn``, OneFlow v0.4 names).

Names and argument order only; the ops are in ``opkit.ops``.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow import math as flow_math
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.session import session
from opkit.oneflow.user_op import as_value, call
from opkit.ops.composed.images import pixel_shuffle
from opkit.ops.core.types import Name
from opkit.ops.core.value import shape_of

__all__ = [
    "PixelShuffle",
    "bias_add",
    "dropout",
    "elu",
    "fused_bias_add_dropout",
    "fused_bias_add_gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsoftmax",
    "random_mask_like",
    "relu",
    "relu6",
    "softmax",
    "softmax_grad",
]

Blob = Any

relu = flow_math.relu


def bias_add(value: Blob, bias: Blob, data_format: str | None = None, name: Name = None) -> Blob:
    """Add a vector along the channels: axis 1, or the last with "N...C"."""
    return call("bias_add", value, bias, axis=_bias_axis(value, data_format))


def leaky_relu(x: Blob, alpha: float = 0.2, name: Name = None) -> Blob:
    """Return ``x`` where positive, else ``alpha * x``."""
    return ops.leaky_relu(as_value(x), alpha)


def elu(x: Blob, alpha: float = 1.0, name: Name = None) -> Blob:
    """Return ``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return ops.elu(as_value(x), alpha)


def relu6(x: Blob, name: Name = None) -> Blob:
    """Return ``min(max(x, 0), 6)``."""
    return ops.relu6(as_value(x))


def hardtanh(x: Blob, min_val: float = -1.0, max_val: float = 1.0, name: Name = None) -> Blob:
    """Return x, held between two bounds; the gradient at the bounds is 0."""
    return ops.hardtanh(as_value(x), min_val, max_val)


def hardsigmoid(x: Blob, name: Name = None) -> Blob:
    """Return ``min(max(x / 6 + 1 / 2, 0), 1)``."""
    return call("hardsigmoid", x)


def hardswish(x: Blob, name: Name = None) -> Blob:
    """Return ``x * min(max(x / 6 + 1 / 2, 0), 1)``."""
    return call("hardswish", x)


def softmax(logits: Blob, axis: int | None = None, name: Name = None) -> Blob:
    """Return the softmax along an axis, the last where left out."""
    return ops.softmax(as_value(logits), -1 if axis is None else axis)


def logsoftmax(logits: Blob, axis: int | None = None, name: Name = None) -> Blob:
    """Return the logarithm of the softmax."""
    return ops.log_softmax(as_value(logits), -1 if axis is None else axis)


def softmax_grad(y: Blob, dy: Blob, axis: int | None = None, name: Name = None) -> Blob:
    """Return the gradient of softmax along the last axis."""
    return call("softmax_grad", y, dy)


def dropout(x: Blob, rate: float, noise_shape: Blob | None = None, seed: int | None = None, name: Name = None) -> Blob:
    """Zero elements with probability ``rate`` and scale the rest; a predict job's blob is returned unchanged.

    Raises:
        UsageError: the rate is not in [0, 1).
    """
    _rate("flow.nn.dropout", rate)
    job = session().job
    value = as_value(x)
    if rate == 0.0 or job is None or job.kind != "train":
        return value
    return ops.dropout(value, rate, seed or 0)


def random_mask_like(
    like: Blob, rate: float, seed: int | None = None, noise_shape: Blob | None = None, name: Name = None
) -> Blob:
    """Return an int8 blob of another's shape that is 0 with probability ``rate``, else 1.

    Raises:
        UsageError: the rate is not in [0, 1), or a noise shape is given, which v0.4 refuses too.
    """
    if noise_shape is not None:
        raise UsageError("flow.nn.random_mask_like: noise_shape is not supported, as in OneFlow v0.4")
    return ops.random_mask_like(as_value(like), _rate("flow.nn.random_mask_like", rate), seed or 0)


def _rate(op: str, rate: float) -> float:
    if rate is None or not 0.0 <= rate < 1.0:
        raise UsageError(f"{op}: rate is a number in [0, 1), got {rate!r}")
    return rate


# ---- several in one --------------------------------------------------------------------------------------------------
def fused_bias_add_gelu(value: Blob, bias: Blob, data_format: str | None = None, name: Name = None) -> Blob:
    """Return ``gelu(bias_add(value, bias))``."""
    return call("fused_bias_add_gelu", value, bias, axis=_bias_axis(value, data_format))


def fused_bias_add_dropout(
    value: Blob,
    bias: Blob,
    data_format: str | None = None,
    rate: float = 0.0,
    noise_shape: Blob | None = None,
    seed: int | None = None,
    name: Name = None,
) -> Blob:
    """Return ``dropout(bias_add(value, bias))``; a predict job leaves the dropout out."""
    job = session().job
    if _rate("flow.nn.fused_bias_add_dropout", rate) == 0.0 or job is None or job.kind != "train":
        return bias_add(value, bias, data_format)
    mask = random_mask_like(value, rate, seed, noise_shape)
    return call(
        "fused_bias_add_mask_scale", value, bias, mask, axis=_bias_axis(value, data_format), scale=1.0 / (1.0 - rate)
    )


def _bias_axis(value: Blob, data_format: str | None) -> int:
    """Return where the channels lie: axis 1, or the last with "N...C"."""
    is_last = data_format is not None and data_format.endswith("C") and not data_format.startswith("NC")
    return len(shape_of(as_value(value))) - 1 if is_last else 1


# ---- pixels ----------------------------------------------------------------------------------------------------------
def PixelShuffle(input: Blob, upscale_factor: int, name: Name = None) -> Blob:
    """Return images ``upscale_factor`` times as high and wide, made of their channels.

    Raises:
        ShapeError: it is not (batch, channels, height, width), or the squared factor does not divide the channels.
    """
    value = as_value(input)
    sizes = shape_of(value)
    if len(sizes) != 4 or upscale_factor <= 0 or sizes[1] % upscale_factor**2:
        raise ShapeError(
            "flow.nn.PixelShuffle takes (batch, channels, height, width) with channels that "
            f"{upscale_factor} squared divides, got shape {sizes}"
        )
    return pixel_shuffle(value, upscale_factor, upscale_factor)
