"""Convolutions, plain and transposed, over one to three axes."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.paddle.nn.functional.axes import channel_layout, each, padding_pairs
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value
from opkit.shim.missing import guard as _guard

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]


# ---- convolutions ----------------------------------------------------------------------------------------------------
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
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format)


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
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format)


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
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format)


def _conv(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, data_format: str
) -> Any:
    """Return a convolution over the axes that the format names."""
    layout = channel_layout(data_format)
    x, left = _same_padding(need_value("conv", "x", x), weight, stride, padding, dilation, layout)
    if isinstance(padding, str) and padding.upper() == "SAME":
        dilation = 1
    if layout == "channels_last":  # Paddle's filters are channels first in either layout
        weight = ops.transpose(weight, [0, *range(2, weight.ndim), 1])
    return ops.conv(x, weight, bias, stride, left, dilation, groups, layout)


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
        strides, dilations = (each(item, dims) for item in (stride, dilation))
        pairs = []
        for axis, size, step in zip(spatial, kernel, strides):
            total = max((-(-x.shape[axis] // step) - 1) * step + size - x.shape[axis], 0)
            pairs.append((total // 2, total - total // 2))
        del dilations  # Paddle 2.6 sets the dilation to 1 with SAME
    else:
        pairs = padding_pairs(padding, dims, spatial)
    if all(low == high for low, high in pairs):
        return x, [low for low, _ in pairs]
    before, after = [0] * x.ndim, [0] * x.ndim
    for axis, (low, high) in zip(spatial, pairs):
        before[axis], after[axis] = low, high
    return ops.pad(x, before, after), 0


# ---- transposed convolutions -----------------------------------------------------------------------------------------
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
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format)


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
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format)


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
    return _transposed(x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format)


def _transposed(
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
    layout = channel_layout(data_format)
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
    wanted, strides, pads, gaps = (each(item, count) for item in (output_size, stride, padding, dilation))
    least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(sizes, strides, pads, gaps, kernel)]
    extra = tuple(target - size for target, size in zip(wanted, least))
    if any(not 0 <= more < step for more, step in zip(extra, strides)):
        raise UsageError(f"conv_transpose: output_size {wanted} is not between {least} and the next stride")
    return extra


__getattr__ = _guard(__name__, globals())
