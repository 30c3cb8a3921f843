"""Convolutions and pools over one and three spatial axes; norms over channels."""

from __future__ import annotations

from typing import Any

from opkit import ops
from opkit.errors import ShapeError, UsageError
from opkit.paddle.nn.functional.norm import adaptive_pool, conv_of, pool_padding, transposed_conv_of
from opkit.paddle.tensor.checks import ints, need_value

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool3d",
    "avg_pool3d",
    "conv1d_transpose",
    "conv3d",
    "conv3d_transpose",
    "instance_norm",
    "local_response_norm",
    "max_pool3d",
]


# ---- convolutions ----------------------------------------------------------------------------------------------------
def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return a 3-D convolution; the weight is (filters, channels / groups, depth, height, width)."""
    return conv_of(x, weight, bias, stride, padding, dilation, groups, data_format)


def conv1d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Any:
    """Return a transposed 1-D convolution; the weight is (channels, filters / groups, length)."""
    return transposed_conv_of(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format
    )


def conv3d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return a transposed 3-D convolution; the weight is (channels, filters / groups, depth, height, width)."""
    return transposed_conv_of(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format
    )


# ---- pools -----------------------------------------------------------------------------------------------------------
def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    _no_mask("max_pool3d", return_mask)
    left = pool_padding(padding, 3, data_format)
    layout = "channels_first" if data_format == "NCDHW" else "channels_last"
    return ops.max_pool(need_value("max_pool3d", "x", x), kernel_size, stride, left, ceil_mode, layout)


def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    left = pool_padding(padding, 3, data_format)
    layout = "channels_first" if data_format == "NCDHW" else "channels_last"
    need_value("avg_pool3d", "x", x)
    if divisor_override is None:
        return ops.avg_pool(x, kernel_size, stride, left, ceil_mode, layout, exclusive)
    sizes = ints(kernel_size)
    count = sizes[0] ** 3 if len(sizes) == 1 else sizes[0] * sizes[1] * sizes[2]
    full = ops.avg_pool(x, kernel_size, stride, left, ceil_mode, layout, False)
    return ops.mul(full, count / float(divisor_override))


def _no_mask(function: str, return_mask: bool) -> None:
    if return_mask:
        raise UsageError(f"{function}: opkit returns no mask")


def _sizes(output_size: Any, count: int) -> list[Any]:
    return list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * count


def adaptive_avg_pool1d(x: Any, output_size: Any, name: str | None = None) -> Any:
    """Return means over windows that divide the length into ``output_size`` parts."""
    return adaptive_pool(need_value("adaptive_avg_pool1d", "x", x), _sizes(output_size, 1), [2], ops.reduce_mean)


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the length into ``output_size`` parts."""
    _no_mask("adaptive_max_pool1d", return_mask)
    return adaptive_pool(need_value("adaptive_max_pool1d", "x", x), _sizes(output_size, 1), [2], ops.reduce_max)


def adaptive_avg_pool3d(x: Any, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> Any:
    """Return means over windows that divide the volume into ``output_size`` parts."""
    axes = [2, 3, 4] if data_format == "NCDHW" else [1, 2, 3]
    return adaptive_pool(need_value("adaptive_avg_pool3d", "x", x), _sizes(output_size, 3), axes, ops.reduce_mean)


def adaptive_max_pool3d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the volume into ``output_size`` parts."""
    _no_mask("adaptive_max_pool3d", return_mask)
    return adaptive_pool(need_value("adaptive_max_pool3d", "x", x), _sizes(output_size, 3), [2, 3, 4], ops.reduce_max)


# ---- norms -----------------------------------------------------------------------------------------------------------
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
    name: str | None = None,
) -> Any:
    """Return x normalised per sample and channel, scaled and shifted per channel; the statistics are always x's own."""
    if need_value("instance_norm", "x", x).ndim < 3:
        raise ShapeError(f"instance_norm takes (N, C, ...), got {list(x.shape)}")
    return ops.instance_norm(x, weight, bias, float(eps))


def local_response_norm(
    x: Any,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return x divided by ``(k + alpha * mean of squares over neighbouring channels) ** beta``."""
    dims = need_value("local_response_norm", "x", x).ndim
    if dims < 3:
        raise ShapeError(f"local_response_norm takes a tensor of 3 axes at least, got {list(x.shape)}")
    axis = 1 if data_format.startswith("NC") else dims - 1
    before, after = [0] * dims, [0] * dims
    before[axis], after[axis] = size // 2, (size - 1) // 2
    squares = ops.pad(ops.square(x), before, after)
    count = x.shape[axis]
    total = ops.slice(squares, [axis], [0], [count])
    for shift in range(1, size):
        total = ops.add(total, ops.slice(squares, [axis], [shift], [shift + count]))
    scale = ops.pow(ops.add(ops.mul(total, float(alpha) / size), float(k)), float(beta))
    return ops.div(x, scale)
