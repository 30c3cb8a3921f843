"""Normalisations."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.ops.core.types import Name
from opkit.paddle.nn.functional.axes import channel_layout
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import ints, needed
from opkit.shim.missing import guard as _guard

__all__ = ["batch_norm", "instance_norm", "layer_norm"]


def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, epsilon: float = 1e-05, name: Name = None
) -> Any:
    """Return x normalised over its last axes, scaled and shifted.

    Args:
        x: any shape.
        normalized_shape: the sizes of the axes to normalise over.
        weight: scale of that shape, or None.
        bias: shift of that shape, or None.
        epsilon: added to the variance.
        name: ignored.
    """
    needed(x)
    tail = tuple(ints(normalized_shape))
    if tuple(x.shape[len(x.shape) - len(tail) :]) != tail:
        raise ShapeError(f"layer_norm: x has shape {list(x.shape)}, which does not end in {list(tail)}")
    scale, shift = (
        None if item is None or tuple(item.shape) == tail else ops.reshape(item, tail) for item in (weight, bias)
    )
    axis = x.ndim - len(tail)
    return ops.layer_norm(x, weight if scale is None else scale, bias if shift is None else shift, axis, epsilon)[0]


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: Name = None,
) -> Any:
    """Return x normalised per channel; while training by the batch's statistics, which update the running ones."""
    needed(x)
    uses_batch = training if use_global_stats is None else training and not use_global_stats
    axis = 1 if channel_layout(data_format) == "channels_first" else x.ndim - 1
    (channels,) = running_mean.shape
    if x.shape[axis] not in (-1, channels):
        raise ShapeError(f"batch_norm is for {channels} channels, got {list(x.shape)}")
    return ops.batch_norm(
        x, running_mean, running_var, weight, bias, training=uses_batch, momentum=momentum, epsilon=epsilon, axis=axis
    )


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: Name = None,
) -> Any:
    """Return x normalised per sample and channel, scaled and shifted per channel; the statistics are always x's own."""
    if needed(x).ndim < 3:
        raise ShapeError(f"instance_norm takes (N, C, ...), got {list(x.shape)}")
    return ops.instance_norm(x, weight, bias, float(eps))


__getattr__ = _guard(globals())
