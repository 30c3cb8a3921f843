"""Convolutions, plain and transposed, over one to three axes."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ops.core.types import Name
from opkit.paddle.nn.functional.axes import channel_layout, each, padding_pairs
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_axes, titled
from opkit.shim.missing import guard as _guard

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]


# ---- convolutions ----------------------------------------------------------------------------------------------------
def _convolution(rank: int, sizes: str, layout: str) -> Any:
    """Return Paddle's convolution over so many axes, which its documentation calls ``sizes``."""

    def convolve(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        data_format: str = layout,
        name: Name = None,
    ) -> Any:
        order = channel_layout(data_format)
        need_axes(f"conv{rank}d", x, rank + 2)
        if 0 in weight.shape[:2]:
            raise ShapeError(f"conv: filters of shape {list(weight.shape)} have no channels")
        x, left = _padded(x, _padding_of(x, weight, stride, padding, order), order)
        if order == "channels_last":  # Paddle's filters are channels first in either layout
            weight = ops.transpose(weight, [0, *range(2, weight.ndim), 1])
        return ops.conv(x, weight, bias, stride, left, _dilation(dilation, padding), groups, order)

    text = f"Return a {rank}-D convolution; the weight is (filters, channels / groups, {sizes})."
    return titled(convolve, f"conv{rank}d", text)


conv1d = _convolution(1, "length", "NCL")
conv2d = _convolution(2, "height, width", "NCHW")
conv3d = _convolution(3, "depth, height, width", "NCDHW")


def _dilation(dilation: Any, padding: Any) -> Any:
    """Return the dilation, which Paddle 2.6 sets to 1 with "SAME"."""
    return 1 if isinstance(padding, str) and padding.upper() == "SAME" else dilation


def _padding_of(x: Any, weight: Any, stride: Any, padding: Any, layout: str) -> list[tuple[int, int]]:
    """Return the counts before and behind each spatial axis of x.

    Args:
        x: the input, whose sizes "SAME" depends on.
        weight: the filters, channels first in either layout, as Paddle has them.
        stride: one number, or one per axis.
        padding: as the user gave it.
        layout: of x.
    """
    dims = x.ndim - 2
    spatial = list(range(2, x.ndim)) if layout == "channels_first" else list(range(1, x.ndim - 1))
    if not isinstance(padding, str):
        return padding_pairs(padding, dims, spatial)
    if padding.upper() == "VALID":
        return [(0, 0)] * dims
    if padding.upper() != "SAME":
        raise UsageError(f"padding is 'SAME', 'VALID', a number or a list, got {padding!r}")
    pairs = []
    for axis, size, step in zip(spatial, weight.shape[2:], each(stride, dims)):
        if x.shape[axis] == -1 and step != 1:
            raise ShapeError(
                f"padding 'SAME' with a stride of {step} needs the size of axis {axis}, which is not known"
            )
        total = max((-(-x.shape[axis] // step) - 1) * step + size - x.shape[axis], 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def _padded(x: Any, pairs: list[tuple[int, int]], layout: str) -> tuple[Any, Any]:
    """Return the input, padded where the padding is uneven, and the padding that is left to do."""
    if all(low == high for low, high in pairs):
        return x, [low for low, _ in pairs]
    around = [(0, 0), (0, 0), *pairs] if layout == "channels_first" else [(0, 0), *pairs, (0, 0)]
    return ops.pad(x, [low for low, _ in around], [high for _, high in around]), 0


# ---- transposed convolutions -----------------------------------------------------------------------------------------
def _transposed_convolution(rank: int, sizes: str, layout: str) -> Any:
    """Return Paddle's transposed convolution over one or three axes, where ``groups`` stands before ``dilation``."""

    def convolve(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        output_size: Any = None,
        data_format: str = layout,
        name: Name = None,
    ) -> Any:
        more = (output_padding, dilation, groups, output_size, data_format)
        return conv2d_transpose(x, weight, bias, stride, padding, *more)

    text = f"Return a transposed {rank}-D convolution; the weight is (channels, filters / groups, {sizes})."
    return titled(convolve, f"conv{rank}d_transpose", text)


conv1d_transpose = _transposed_convolution(1, "length", "NCL")
conv3d_transpose = _transposed_convolution(3, "depth, height, width", "NCDHW")


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
    name: Name = None,
) -> Any:
    """Return a transposed 2-D convolution; the weight is (channels, filters / groups, height, width).

    An output_size decides between the sizes that a stride allows.
    """
    layout = channel_layout(data_format)
    need_axes("conv_transpose", x, weight.ndim)
    pairs = _padding_of(x, weight, stride, padding, layout)
    dilation = _dilation(dilation, padding)
    sizes = x.shape[2:] if layout == "channels_first" else x.shape[1:-1]
    steps, gaps, more = (each(item, len(sizes)) for item in (stride, dilation, output_padding))
    whole = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(sizes, steps, gaps, weight.shape[2:])]
    if output_size is not None:
        if -1 in sizes:
            raise ShapeError(f"conv_transpose: output_size needs the sizes of x, which are {list(sizes)}")
        if output_padding not in (0, [0], (0,)):
            raise UsageError("conv_transpose: give output_size or output_padding, not both")
        more = _beyond(each(output_size, len(sizes)), [n - sum(pair) for n, pair in zip(whole, pairs)], steps)
    if layout == "channels_last":
        weight = ops.transpose(weight, [0, *range(2, weight.ndim), 1])
    if all(low == high for low, high in pairs):
        left = [low for low, _ in pairs]
        return ops.conv_transpose(x, weight, bias, stride, left, more, dilation, groups, layout)
    # The whole, as long as it has to be, without what lies in the padding.
    surplus = [max(extra - high, 0) for extra, (_, high) in zip(more, pairs)]
    found = ops.conv_transpose(x, weight, bias, stride, 0, surplus, dilation, groups, layout)
    # Counted from the end, so that sizes need not be known.
    ends = [extra - high - added for extra, added, (_, high) in zip(more, surplus, pairs)]
    cuts = [slice(low, end or None) for (low, _), end in zip(pairs, ends)]
    full = slice(None)
    return ops.getitem(found, (full, full, *cuts) if layout == "channels_first" else (full, *cuts, full))


def _beyond(wanted: Any, least: list[int], steps: Any) -> list[int]:
    """Return what an output size has beyond the least one."""
    extra = [target - size for target, size in zip(wanted, least)]
    if any(not 0 <= more < step for more, step in zip(extra, steps)):
        raise UsageError(f"conv_transpose: output_size {list(wanted)} is not between {least} and the next stride")
    return extra


__getattr__ = _guard(globals())
