"""Mean and variance, and normalisation by them (``flow.nn``, OneFlow v0.4 names). The ops are in ``opkit.ops``."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.oneflow import math as flow_math
from opkit.oneflow.initializers import ones_initializer, zeros_initializer
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value
from opkit.oneflow.util import unique_str
from opkit.oneflow.variable import get_variable
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import dtype_of, shape_of

__all__ = [
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "batch_normalization",
    "layer_norm",
    "moments",
]

Blob = Any


def moments(x: Blob, axes: Ints, keepdims: bool = False, name: Name = None) -> tuple[Blob, Blob]:
    """Return mean and variance over axes."""
    return flow_math.reduce_mean(x, axes, keepdims), flow_math.reduce_variance(x, axes, keepdims)


def batch_normalization(
    x: Blob,
    mean: Blob,
    variance: Blob,
    offset: Blob | None = None,
    scale: Blob | None = None,
    variance_epsilon: float = 1e-5,
    axis: int = 1,
    name: Name = None,
) -> Blob:
    """Return ``(x - mean) / sqrt(variance + epsilon) * scale + offset``; vectors lie along ``axis``."""
    value = as_value(x)
    sizes = shape_of(value)
    along = [1] * len(sizes)
    along[axis] = sizes[axis]

    def placed(blob: Blob) -> Blob:
        item = as_value(blob)
        return ops.reshape(item, along) if len(shape_of(item)) == 1 else item

    out = ops.mul(ops.sub(value, placed(mean)), ops.rsqrt(ops.add(placed(variance), variance_epsilon)))
    if scale is not None:
        out = ops.mul(out, placed(scale))
    return out if offset is None else ops.add(out, placed(offset))


def layer_norm(
    inputs: Blob,
    gamma: Blob | None = None,
    beta: Blob | None = None,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-5,
    name: Name = None,
) -> Blob:
    """Normalise over all axes from ``begin_norm_axis`` on; gamma and beta span those from ``begin_params_axis`` on."""
    value = as_value(inputs)
    ndim = len(shape_of(value))
    axes = tuple(range(begin_norm_axis % ndim, ndim))
    mean = ops.reduce_mean(value, axes, True)
    centred = ops.sub(value, mean)
    variance = ops.reduce_mean(ops.square(centred), axes, True)
    out = ops.mul(centred, ops.rsqrt(ops.add(variance, epsilon)))
    if gamma is not None:
        out = ops.mul(out, as_value(gamma))
    return out if beta is None else ops.add(out, as_value(beta))


def GroupNorm(x: Blob, num_groups: int = 32, eps: float = 1e-5, affine: bool = True, name: Name = None) -> Blob:
    """Normalise groups of channels of each sample; with ``affine`` by variables NAME_gamma and NAME_beta besides.

    Args:
        x: (batch, channels, ...).
        num_groups: divides the channels.

    Raises:
        ShapeError: there are fewer than three axes, or the groups do not divide the channels.
    """
    value = as_value(x)
    sizes = shape_of(value)
    if len(sizes) < 3 or num_groups <= 0 or sizes[1] % num_groups:
        raise ShapeError(
            f"flow.nn.GroupNorm takes a blob of three or more axes whose channels {num_groups} groups divide, got "
            f"shape {sizes}"
        )
    return _normalised_by_rows("GroupNorm", value, num_groups, eps, affine, name)


def InstanceNorm1d(x: Blob, eps: float = 1e-5, affine: bool = True, name: Name = None) -> Blob:
    """Normalise each channel of each sample of (batch, channels, width); see ``GroupNorm``."""
    return _instance_norm("InstanceNorm1d", 3, x, eps, affine, name)


def InstanceNorm2d(x: Blob, eps: float = 1e-5, affine: bool = True, name: Name = None) -> Blob:
    """Normalise each channel of each image of (batch, channels, height, width); see ``GroupNorm``."""
    return _instance_norm("InstanceNorm2d", 4, x, eps, affine, name)


def _instance_norm(kind: str, ndim: int, x: Blob, eps: float, affine: bool, name: str | None) -> Blob:
    value = as_value(x)
    sizes = shape_of(value)
    if len(sizes) != ndim:
        raise ShapeError(f"flow.nn.{kind} takes a blob of {ndim} axes, got shape {sizes}")
    return _normalised_by_rows(kind, value, sizes[1], eps, affine, name)


def _normalised_by_rows(kind: str, value: Any, groups: int, eps: float, affine: bool, name: str | None) -> Blob:
    """Normalise over what each of ``groups`` parts of the channels holds."""
    sizes = shape_of(value)
    rows = ops.reshape(value, [sizes[0], groups, -1])
    mean, variance = moments(rows, [2], True)
    out = ops.div(ops.sub(rows, mean), ops.sqrt(ops.add(variance, eps)))
    if affine:
        prefix, channels = name or unique_str(f"{kind}_"), sizes[1]
        out = ops.reshape(out, [sizes[0], channels, -1])
        dtype = dtype_of(value).name
        gamma = get_variable(f"{prefix}_gamma", (1, channels, 1), dtype, ones_initializer())
        beta = get_variable(f"{prefix}_beta", (1, channels, 1), dtype, zeros_initializer())
        out = ops.add(ops.mul(gamma, out), beta)
    return ops.reshape(out, list(sizes))
