"""Convolution and pooling over one, two or three axes, with OneFlow's names and padding rules (v0.4).

The ops are in ``opkit.ops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow import array
from opkit.oneflow.padding import pad_grad
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Function, Ints, Name
from opkit.ops.core.value import shape_of

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "compat_conv2d",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

Blob = Any
Padding = str | Sequence[Any]
Sizes = int | Ints

#: How the layouts of 1, 2 and 3 axes are called, with the channels first and last.
_FORMATS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


# ---- convolution -----------------------------------------------------------------------------------------------------
def _convolution(spatial: int, text: str) -> Function:
    """Return OneFlow's convolution over so many axes."""
    op = f"flow.nn.conv{spatial}d"

    def function(
        input: Blob,
        filters: Blob,
        strides: Sizes,
        padding: Padding,
        data_format: str = _FORMATS[spatial][0],
        dilations: Sizes | None = None,
        groups: int = 1,
        name: Name = None,
    ) -> Blob:
        value, weight = as_value(input), as_value(filters)
        first = _is_channels_first(op, data_format, spatial)
        sizes, window = shape_of(value), shape_of(weight)
        if len(sizes) != spatial + 2 or len(window) != spatial + 2:
            raise ShapeError(f"{op} takes images and filters of {spatial + 2} axes, got shapes {sizes} and {window}")
        offset = 2 if first else 1
        kernel = list(window[offset : offset + spatial])
        steps = _sizes(strides, spatial, "strides")
        gaps = _sizes(1 if dilations is None else dilations, spatial, "dilations")
        around = _paddings(op, padding, sizes, kernel, steps, gaps, offset)
        if any(before != after for before, after in around):
            value = array.pad(value, [[0, 0]] * offset + around + ([] if first else [[0, 0]]))
            around = [[0, 0]] * spatial
        return call(
            f"conv{spatial}d",
            value,
            weight,
            filters=window[0],
            padding_before=[before for before, _ in around],
            data_format="channels_first" if first else "channels_last",
            kernel_size=kernel,
            strides=steps,
            dilation_rate=gaps,
            groups=groups,
        )

    function.__doc__, function.__name__ = text, f"conv{spatial}d"
    return function


conv1d = _convolution(1, "Convolve rows with filters (outputs, channels / groups, width); see ``conv2d``.")
conv2d = _convolution(
    2,
    """Convolve images with filters.

    Args:
        input: (batch, channels, height, width), or channels last with ``data_format`` "NHWC".
        filters: (outputs, channels / groups, height, width), or (outputs, height, width, channels / groups).
        strides: one number or two.
        padding: "SAME" (the larger half before, as SAME_LOWER), "SAME_LOWER", "SAME_UPPER", "VALID", or a pair
            (before, after) per axis.
        dilations: one number or two.
        groups: how many groups of channels are convolved apart.

    Raises:
        ShapeError: the filters do not fit the images or the groups.
    """,
)
conv3d = _convolution(
    3, "Convolve volumes with filters (outputs, channels / groups, depth, height, width); see ``conv2d``."
)


def compat_conv2d(
    input: Blob,
    filters: Blob,
    strides: Sizes,
    padding: str,
    data_format: str = "NCHW",
    dilations: Sizes | None = None,
    groups: int = 1,
    name: Name = None,
) -> Blob:
    """Convolve images as ``conv2d`` does, with the larger half of "SAME" padding after them."""
    kind = "SAME_UPPER" if padding.upper() == "SAME" else padding
    return conv2d(input, filters, strides, kind, data_format, dilations, groups)


def conv2d_transpose(
    value: Blob | None = None,
    filter: Blob | None = None,
    output_shape: Ints | None = None,
    strides: Sizes | None = None,
    padding: str = "VALID",
    data_format: str = "NCHW",
    name: Name = None,
    input: Blob | None = None,
    filters: Blob | None = None,
    dilations: Sizes | None = None,
) -> Blob:
    """Return images whose convolution with the filters has the shape of ``value``.

    Args:
        value: images (batch, channels, height, width), or channels last with ``data_format`` "NHWC"; also ``input``.
        filter: (channels, outputs, height, width), or (channels, height, width, outputs); also ``filters``.
        output_shape: of the result, four sizes.
        strides: one number or two.
        padding: "VALID" or "SAME" (the larger half after).
        dilations: one number or two.

    Raises:
        UsageError: an argument is missing or given twice, or the padding is another.
        ShapeError: the convolution of the output shape does not have the shape of ``value``.
    """
    op = "flow.nn.conv2d_transpose"
    if (value is None) == (input is None) or (filter is None) == (filters is None):
        raise UsageError(f"{op} takes one of value and input, and one of filter and filters")
    if output_shape is None or strides is None:
        raise UsageError(f"{op} takes output_shape (four sizes) and strides")
    image, weight = as_value(input if value is None else value), as_value(filters if filter is None else filter)
    first = _is_channels_first(op, data_format, 2)
    offset = 2 if first else 1
    sizes, window = shape_of(image), shape_of(weight)
    if len(sizes) != 4 or len(window) != 4 or len(output_shape) != 4:
        raise ShapeError(
            f"{op} takes images, filters and an output shape of 4 axes, got {sizes}, {window}, {output_shape}"
        )
    steps, gaps = _sizes(strides, 2, "strides"), _sizes(1 if dilations is None else dilations, 2, "dilations")
    kernel = list(window[offset : offset + 2])
    around, beyond = _transposed(op, padding, sizes, kernel, steps, gaps, list(output_shape), offset)
    is_even = all(before == after for before, after in around)
    out = call(
        "deconv2d",
        image,
        weight,
        filters=window[1] if first else window[3],
        padding_before=[before if is_even else 0 for before, _ in around],
        data_format="channels_first" if first else "channels_last",
        kernel_size=kernel,
        strides=steps,
        dilation_rate=gaps,
        output_padding=beyond,
    )
    if is_even:
        return out
    return pad_grad(out, [(0, 0)] * offset + around + ([] if first else [(0, 0)]))


def _transposed(
    op: str, padding: str, sizes: Ints, kernel: Ints, strides: Ints, dilations: Ints, target: Ints, offset: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return (before, after) per axis of the window, and what the result has beyond."""
    if padding.upper() not in ("SAME", "VALID"):
        raise UsageError(f"{op}: padding is SAME or VALID, got {padding!r}")
    around, beyond = [], []
    for axis in (0, 1):
        size, wanted, step = sizes[offset + axis], target[offset + axis], strides[axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        full = (size - 1) * step + reach
        is_same = padding.upper() == "SAME"
        if (wanted + step - (1 if is_same else reach)) // step != size:
            raise ShapeError(
                f"{op}: {padding} convolution of an axis of {wanted} with a window of {reach} and stride {step} does "
                f"not give {size}: axis {offset + axis} of output_shape {tuple(target)}"
            )
        spare = max(0, full - wanted) if is_same else 0
        around.append((spare // 2, spare - spare // 2))
        beyond.append(wanted - (full - spare))
    return around, beyond


# ---- pooling ---------------------------------------------------------------------------------------------------------
def _pooling(kind: str, spatial: int, doc: str) -> Function:
    op = f"{kind}_pool_{spatial}d"

    def function(
        input: Blob,
        ksize: Sizes,
        strides: Sizes,
        padding: Padding,
        data_format: str = _FORMATS[spatial][0],
        ceil_mode: bool = False,
        name: Name = None,
    ) -> Blob:
        first = _is_channels_first(f"flow.nn.{op}", data_format, spatial)
        around = [[0, 0]] * spatial
        rule = "customized"
        if isinstance(padding, str):
            rule = "same_lower" if padding.upper() == "SAME" else padding.lower()
            if rule not in ("valid", "same_lower", "same_upper"):
                raise UsageError(
                    f"flow.nn.{op}: padding is SAME, SAME_LOWER, SAME_UPPER, VALID or pairs, got {padding!r}"
                )
        else:
            around = _pairs(f"flow.nn.{op}", padding, spatial, 2 if first else 1)
        return call(
            op,
            input,
            padding=rule,
            padding_before=[before for before, _ in around],
            padding_after=[after for _, after in around],
            data_format="channels_first" if first else "channels_last",
            pool_size=_sizes(ksize, spatial, "ksize"),
            strides=_sizes(strides, spatial, "strides"),
            ceil_mode=ceil_mode,
        )

    function.__doc__, function.__name__ = doc, f"{kind}_pool{spatial}d"
    return function


max_pool1d = _pooling("max", 1, "Return the largest element of each window of rows.")
max_pool2d = _pooling("max", 2, "Return the largest element of each window of images.")
max_pool3d = _pooling("max", 3, "Return the largest element of each window of volumes.")
avg_pool1d = _pooling("avg", 1, "Return the mean of each window of rows, padding left out.")
avg_pool2d = _pooling("avg", 2, "Return the mean of each window of images, padding left out.")
avg_pool3d = _pooling("avg", 3, "Return the mean of each window of volumes, padding left out.")


# ---- layouts and paddings --------------------------------------------------------------------------------------------
def _is_channels_first(op: str, data_format: str, spatial: int) -> bool:
    first, last = _FORMATS[spatial]
    if data_format.upper() not in (first, last):
        raise UsageError(f'{op}: data_format is "{first}" or "{last}", got {data_format!r}')
    return data_format.upper() == first


def _sizes(value: Sizes, count: int, name: str) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    if len(items) == 1:
        items *= count
    if len(items) != count:
        raise UsageError(f"{name} is one number or {count}, got {value!r}")
    return [int(item) for item in items]


def _paddings(
    op: str, padding: Padding, sizes: Ints, kernel: Ints, strides: Ints, dilations: Ints, offset: int
) -> list[list[int]]:
    """Return (before, after) per axis of the window."""
    if not isinstance(padding, str):
        return _pairs(op, padding, len(kernel), offset)
    kind = "SAME_LOWER" if padding.upper() == "SAME" else padding.upper()
    if kind == "VALID":
        return [[0, 0] for _ in kernel]
    if kind not in ("SAME_LOWER", "SAME_UPPER"):
        raise UsageError(f"{op}: padding is SAME, SAME_LOWER, SAME_UPPER, VALID or pairs, got {padding!r}")
    around = []
    for axis, step in enumerate(strides):
        size = sizes[offset + axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        missing = max(0, (-(-size // step) - 1) * step + reach - size)
        small, large = missing // 2, missing - missing // 2
        around.append([large, small] if kind == "SAME_LOWER" else [small, large])
    return around


def _pairs(op: str, padding: Sequence[Any], spatial: int, offset: int) -> list[list[int]]:
    pairs = [[item, item] if isinstance(item, int) else [int(item[0]), int(item[1])] for item in padding]
    count, window = spatial + 2, range(offset, offset + spatial)
    if len(pairs) != count or any(pairs[axis] != [0, 0] for axis in range(count) if axis not in window):
        raise UsageError(f"{op}: padding has a pair per axis, zeros for batch and channels, got {padding!r}")
    return pairs[offset : offset + spatial]
