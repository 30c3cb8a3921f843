"""Normalisations, convolutions, pooling."""

from __future__ import annotations

from typing import Any

from opkit import ops
from opkit.errors import ShapeError, UsageError
from opkit.paddle.tensor.checks import ints, need_value

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
]


def _layout(data_format: str) -> str:
    if data_format not in ("NCHW", "NHWC", "NCL", "NLC", "NC", "NCDHW", "NDHWC"):
        raise UsageError(f"data_format is 'NCHW', 'NHWC', 'NCL', 'NLC', 'NCDHW' or 'NDHWC', got {data_format!r}")
    return "channels_first" if data_format.startswith("NC") else "channels_last"


def layer_norm(
    x: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-05,
    name: str | None = None,
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
    need_value("layer_norm", "x", x)
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
    name: str | None = None,
) -> Any:
    """Return x normalised per channel; while training by the batch's statistics, which update the running ones."""
    need_value("batch_norm", "x", x)
    uses_batch = training if use_global_stats is None else training and not use_global_stats
    axis = 1 if _layout(data_format) == "channels_first" else x.ndim - 1
    return ops.batch_norm(
        x,
        running_mean,
        running_var,
        weight,
        bias,
        training=uses_batch,
        momentum=momentum,
        epsilon=epsilon,
        axis=axis,
    )


# ---- convolutions ----------------------------------------------------------------------------------------------------
def _same_padding(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, layout: str) -> tuple[Any, Any]:
    """Return the input, padded where the padding is uneven, and the padding that is left to do."""
    dims = x.ndim - 2
    spatial = list(range(2, x.ndim)) if layout == "channels_first" else list(range(1, x.ndim - 1))
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return x, 0
        if padding.upper() != "SAME":
            raise UsageError(f"padding is 'SAME', 'VALID', a number or a list, got {padding!r}")
        kernel = weight.shape[2:] if layout == "channels_first" else weight.shape[1:-1]
        strides, dilations = (_each(item, dims) for item in (stride, dilation))
        pairs = []
        for axis, size, step in zip(spatial, kernel, strides):
            total = max((-(-x.shape[axis] // step) - 1) * step + size - x.shape[axis], 0)
            pairs.append((total // 2, total - total // 2))
        del dilations  # Paddle 2.6 sets the dilation to 1 with SAME
    else:
        pairs = _pairs(padding, dims, spatial)
    if all(low == high for low, high in pairs):
        return x, [low for low, _ in pairs]
    before, after = [0] * x.ndim, [0] * x.ndim
    for axis, (low, high) in zip(spatial, pairs):
        before[axis], after[axis] = low, high
    return ops.pad(x, before, after), 0


def _each(item: Any, count: int) -> list[int]:
    values = ints(item)
    return values * count if len(values) == 1 else values


def _pairs(padding: Any, dims: int, spatial: list[int]) -> list[tuple[int, int]]:
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        pairs = [(int(pair[0]), int(pair[1])) for pair in padding]
        return [pairs[axis] for axis in spatial] if len(pairs) == dims + 2 else pairs
    values = ints(padding)
    if len(values) == 2 * dims:
        return list(zip(values[0::2], values[1::2]))
    return [(value, value) for value in _each(padding, dims)]


def conv_of(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, data_format: str
) -> Any:
    """Return a convolution over the axes that the format names."""
    layout = _layout(data_format)
    x, left = _same_padding(need_value("conv", "x", x), weight, stride, padding, dilation, layout)
    if isinstance(padding, str) and padding.upper() == "SAME":
        dilation = 1
    if layout == "channels_last":  # Paddle's filters are channels first in either layout
        weight = ops.transpose(weight, [0, *range(2, weight.ndim), 1])
    return ops.conv(x, weight, bias, stride, left, dilation, groups, layout)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return a 2-D convolution; the weight is (filters, channels / groups, height, width)."""
    return conv_of(x, weight, bias, stride, padding, dilation, groups, data_format)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Any:
    """Return a 1-D convolution; the weight is (filters, channels / groups, length)."""
    return conv_of(x, weight, bias, stride, padding, dilation, groups, data_format)


def conv2d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return a transposed 2-D convolution; the weight is (channels, filters / groups, height, width)."""
    return transposed_conv_of(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format
    )


def transposed_conv_of(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
    output_size: Any,
    data_format: str,
) -> Any:
    """Return a transposed convolution; with an output_size, which decides between the sizes that a stride allows."""
    layout = _layout(data_format)
    need_value("conv_transpose", "x", x)
    if layout == "channels_last":
        weight = ops.transpose(weight, [0, *range(2, weight.ndim), 1])
    if output_size is not None:
        if output_padding not in (0, [0], (0,)):
            raise UsageError("conv_transpose: give output_size or output_padding, not both")
        output_padding = _extra(x, weight, stride, padding, dilation, output_size, layout)
    return ops.conv_transpose(x, weight, bias, stride, padding, output_padding, dilation, groups, layout)


def _extra(
    x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, output_size: Any, layout: str
) -> tuple[int, ...]:
    """Return what an output size has beyond the least one."""
    first = layout == "channels_first"
    sizes, kernel = (x.shape[2:], weight.shape[2:]) if first else (x.shape[1:-1], weight.shape[1:-1])
    count = len(sizes)
    wanted, strides, pads, gaps = (_each(item, count) for item in (output_size, stride, padding, dilation))
    least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(sizes, strides, pads, gaps, kernel)]
    extra = tuple(target - size for target, size in zip(wanted, least))
    if any(not 0 <= more < step for more, step in zip(extra, strides)):
        raise UsageError(f"conv_transpose: output_size {wanted} is not between {least} and the next stride")
    return extra


# ---- pooling ---------------------------------------------------------------------------------------------------------
def pool_padding(padding: Any, dims: int, data_format: str) -> Any:
    """Return a pool's padding as the builders take it."""
    if isinstance(padding, str):
        return {"SAME": "same_upper", "VALID": "valid"}.get(padding.upper(), padding)
    spatial = list(range(2, dims + 2)) if data_format.startswith("NC") else list(range(1, dims + 1))
    return _pairs(padding, dims, spatial)


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    if return_mask:
        raise UsageError("max_pool2d: opkit returns no mask")
    left = pool_padding(padding, 2, data_format)
    return ops.max_pool(need_value("max_pool2d", "x", x), kernel_size, stride, left, ceil_mode, _layout(data_format))


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Return the largest of each window."""
    if return_mask:
        raise UsageError("max_pool1d: opkit returns no mask")
    left = pool_padding(padding, 1, "NCL")
    return ops.max_pool(need_value("max_pool1d", "x", x), kernel_size, stride, left, ceil_mode)


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    left = pool_padding(padding, 2, data_format)
    need_value("avg_pool2d", "x", x)
    layout = _layout(data_format)
    if divisor_override is None:
        return ops.avg_pool(x, kernel_size, stride, left, ceil_mode, layout, exclusive)
    full = ops.avg_pool(x, kernel_size, stride, left, ceil_mode, layout, False)
    height, width = _each(kernel_size, 2)
    return ops.mul(full, height * width / float(divisor_override))


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Return the mean of each window; ``exclusive``: padding does not count."""
    left = pool_padding(padding, 1, "NCL")
    need_value("avg_pool1d", "x", x)
    return ops.avg_pool(x, kernel_size, stride, left, ceil_mode, "channels_first", exclusive)


def adaptive_avg_pool2d(x: Any, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Return means over windows that divide the image into ``output_size`` parts."""
    return _adaptive(need_value("adaptive_avg_pool2d", "x", x), output_size, data_format, ops.reduce_mean)


def adaptive_max_pool2d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest over windows that divide the image into ``output_size`` parts."""
    if return_mask:
        raise UsageError("adaptive_max_pool2d: opkit returns no mask")
    return _adaptive(need_value("adaptive_max_pool2d", "x", x), output_size, "NCHW", ops.reduce_max)


def _adaptive(x: Any, output_size: Any, data_format: str, reduce: Any) -> Any:
    axes = [2, 3] if _layout(data_format) == "channels_first" else [1, 2]
    wanted = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * 2
    return adaptive_pool(x, wanted, axes, reduce)


def adaptive_pool(x: Any, wanted: list[Any], axes: list[int], reduce: Any) -> Any:
    """Return x with each axis reduced to a wanted number of windows; None keeps the size."""
    for axis, count in zip(axes, wanted):
        size = x.shape[axis]
        parts = size if count is None else int(count)
        windows = [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]
        pieces = []
        for low, high in windows:
            index: list[Any] = [slice(None)] * x.ndim
            index[axis] = slice(low, high)
            pieces.append(reduce(ops.getitem(x, tuple(index)), axis, True))
        x = pieces[0] if len(pieces) == 1 else ops.concat(pieces, axis)
    return x
