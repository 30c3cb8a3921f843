"""``flow.nn``: convolution, pooling, activations, normalisation, losses (OneFlow v0.4 names).

Names, argument order and OneFlow's padding rules only; the ops are in ``opkit.ops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow import array
from opkit.oneflow import math as flow_math
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.session import session
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.value import shape_of
from opkit.shim.missing import guard

__all__ = [
    "avg_pool2d",
    "batch_normalization",
    "bias_add",
    "conv2d",
    "dropout",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "layer_norm",
    "leaky_relu",
    "logsoftmax",
    "max_pool2d",
    "mish",
    "moments",
    "relu",
    "relu6",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_grad",
    "sparse_cross_entropy",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
]

Blob = Any
Padding = str | Sequence[Sequence[int]]

relu = flow_math.relu


# ---- convolution and pooling -----------------------------------------------------------------------------------------
def conv2d(
    input: Blob,
    filters: Blob,
    strides: int | Sequence[int],
    padding: Padding,
    data_format: str = "NCHW",
    dilations: int | Sequence[int] | None = None,
    groups: int = 1,
    name: str | None = None,
) -> Blob:
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
    """
    value, weight = as_value(input), as_value(filters)
    first = _is_channels_first("flow.nn.conv2d", data_format)
    sizes, window = shape_of(value), shape_of(weight)
    if len(sizes) != 4 or len(window) != 4:
        raise ShapeError(f"flow.nn.conv2d takes images and filters of 4 axes, got shapes {sizes} and {window}")
    kernel = list(window[2:4] if first else window[1:3])
    steps, gaps = _pair(strides, "strides"), _pair(1 if dilations is None else dilations, "dilations")
    around = _paddings("flow.nn.conv2d", padding, sizes, kernel, steps, gaps, 2 if first else 1)
    if any(before != after for before, after in around):
        spread = [[0, 0]] * (2 if first else 1) + around + ([] if first else [[0, 0]])
        value = array.pad(value, spread)
        around = [[0, 0], [0, 0]]
    return call(
        "conv2d",
        {"in": [value], "weight": [weight]},
        filters=window[0],
        padding_before=[before for before, _ in around],
        data_format="channels_first" if first else "channels_last",
        kernel_size=kernel,
        strides=steps,
        dilation_rate=gaps,
        groups=groups,
    )


def max_pool2d(
    input: Blob,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: Padding,
    data_format: str = "NCHW",
    ceil_mode: bool = False,
    name: str | None = None,
) -> Blob:
    """Return the largest element of each window."""
    return _pool("max_pool_2d", input, ksize, strides, padding, data_format, ceil_mode)


def avg_pool2d(
    input: Blob,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: Padding,
    data_format: str = "NCHW",
    ceil_mode: bool = False,
    name: str | None = None,
) -> Blob:
    """Return the mean of each window, padding left out."""
    return _pool("avg_pool_2d", input, ksize, strides, padding, data_format, ceil_mode)


def _pool(
    op: str,
    input: Blob,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: Padding,
    data_format: str,
    ceil_mode: bool,
) -> Blob:
    first = _is_channels_first(f"flow.nn.{op}", data_format)
    around = [[0, 0], [0, 0]]
    kind = "customized"
    if isinstance(padding, str):
        kind = "same_lower" if padding.upper() == "SAME" else padding.lower()
        if kind not in ("valid", "same_lower", "same_upper"):
            raise UsageError(f"flow.nn.{op}: padding is SAME, SAME_LOWER, SAME_UPPER, VALID or pairs, got {padding!r}")
    else:
        around = _pairs(f"flow.nn.{op}", padding, 2 if first else 1)
    return call(
        op,
        {"x": [input]},
        padding=kind,
        padding_before=[before for before, _ in around],
        padding_after=[after for _, after in around],
        data_format="channels_first" if first else "channels_last",
        pool_size=_pair(ksize, "ksize"),
        strides=_pair(strides, "strides"),
        ceil_mode=ceil_mode,
    )


def _is_channels_first(op: str, data_format: str) -> bool:
    if data_format.upper() not in ("NCHW", "NHWC"):
        raise UsageError(f'{op}: data_format is "NCHW" or "NHWC", got {data_format!r}')
    return data_format.upper() == "NCHW"


def _pair(value: int | Sequence[int], name: str) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    if len(items) == 1:
        items *= 2
    if len(items) != 2:
        raise UsageError(f"{name} is one number or two, got {value!r}")
    return [int(item) for item in items]


def _paddings(
    op: str,
    padding: Padding,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    offset: int,
) -> list[list[int]]:
    """Return (before, after) per axis of the window."""
    if not isinstance(padding, str):
        return _pairs(op, padding, offset)
    kind = "SAME_LOWER" if padding.upper() == "SAME" else padding.upper()
    if kind == "VALID":
        return [[0, 0], [0, 0]]
    if kind not in ("SAME_LOWER", "SAME_UPPER"):
        raise UsageError(f"{op}: padding is SAME, SAME_LOWER, SAME_UPPER, VALID or pairs, got {padding!r}")
    around = []
    for axis in (0, 1):
        size, step = sizes[offset + axis], strides[axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        missing = max(0, (-(-size // step) - 1) * step + reach - size)
        small, large = missing // 2, missing - missing // 2
        around.append([large, small] if kind == "SAME_LOWER" else [small, large])
    return around


def _pairs(op: str, padding: Sequence[Any], offset: int) -> list[list[int]]:
    pairs = [[item, item] if isinstance(item, int) else [int(item[0]), int(item[1])] for item in padding]
    if len(pairs) != 4 or any(pairs[axis] != [0, 0] for axis in range(4) if not offset <= axis < offset + 2):
        raise UsageError(f"{op}: padding has a pair per axis, zeros for batch and channels, got {padding!r}")
    return pairs[offset : offset + 2]


# ---- activations and normalisation -----------------------------------------------------------------------------------
def bias_add(value: Blob, bias: Blob, data_format: str | None = None, name: str | None = None) -> Blob:
    """Add a vector along the channels: axis 1, or the last with "N...C"."""
    ndim = len(shape_of(as_value(value)))
    axis = ndim - 1 if data_format and data_format.endswith("C") and not data_format.startswith("NC") else 1
    return call("bias_add", {"a": [value], "b": [bias]}, axis=axis)


def leaky_relu(x: Blob, alpha: float = 0.2, name: str | None = None) -> Blob:
    """Return ``x`` where positive, else ``alpha * x``."""
    return ops.leaky_relu(as_value(x), alpha)


def elu(x: Blob, alpha: float = 1.0, name: str | None = None) -> Blob:
    """Return ``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return ops.elu(as_value(x), alpha)


def relu6(x: Blob, name: str | None = None) -> Blob:
    """Return ``min(max(x, 0), 6)``."""
    return ops.relu6(as_value(x))


def hardtanh(x: Blob, min_val: float = -1.0, max_val: float = 1.0, name: str | None = None) -> Blob:
    """Return x, held between two bounds; the gradient at the bounds is 0."""
    return ops.hardtanh(as_value(x), min_val, max_val)


def hardsigmoid(x: Blob, name: str | None = None) -> Blob:
    """Return ``min(max(x / 6 + 1 / 2, 0), 1)``."""
    return call("hardsigmoid", {"in": [x]})


def hardswish(x: Blob, name: str | None = None) -> Blob:
    """Return ``x * min(max(x / 6 + 1 / 2, 0), 1)``."""
    return call("hardswish", {"in": [x]})


def swish(x: Blob, beta: float = 1.0, name: str | None = None) -> Blob:
    """Return ``x * sigmoid(beta * x)``."""
    value = as_value(x)
    return ops.mul(value, ops.sigmoid(ops.mul(value, beta)))


def mish(x: Blob, name: str | None = None) -> Blob:
    """Return ``x * tanh(softplus(x))``."""
    value = as_value(x)
    return ops.mul(value, ops.tanh(ops.softplus(value)))


def softmax(logits: Blob, axis: int | None = None, name: str | None = None) -> Blob:
    """Return the softmax along an axis, the last where left out."""
    return ops.softmax(as_value(logits), -1 if axis is None else axis)


def logsoftmax(logits: Blob, axis: int | None = None, name: str | None = None) -> Blob:
    """Return the logarithm of the softmax."""
    return ops.log_softmax(as_value(logits), -1 if axis is None else axis)


def softmax_grad(y: Blob, dy: Blob, axis: int | None = None, name: str | None = None) -> Blob:
    """Return the gradient of softmax along the last axis."""
    return call("softmax_grad", {"y": [y], "dy": [dy]})


def dropout(
    x: Blob, rate: float, noise_shape: Blob | None = None, seed: int | None = None, name: str | None = None
) -> Blob:
    """Zero elements with probability ``rate`` and scale the rest; a predict job's blob is returned unchanged.

    Raises:
        UsageError: the rate is not in [0, 1).
    """
    if rate is None or not 0.0 <= rate < 1.0:
        raise UsageError(f"flow.nn.dropout: rate is a number in [0, 1), got {rate!r}")
    job = session().job
    value = as_value(x)
    if rate == 0.0 or job is None or job.kind != "train":
        return value
    return ops.dropout(value, rate, seed or 0)


def moments(x: Blob, axes: Sequence[int], keepdims: bool = False, name: str | None = None) -> tuple[Blob, Blob]:
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
    name: str | None = None,
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
    name: str | None = None,
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


# ---- losses ----------------------------------------------------------------------------------------------------------
def sparse_softmax_cross_entropy_with_logits(labels: Blob, logits: Blob, name: str | None = None) -> Blob:
    """Return the cross entropy of integer labels, one number per row of logits."""
    value = as_value(logits)
    given = {"prediction": [value], "label": [labels]}
    return call("sparse_softmax_cross_entropy", given, depth=int(shape_of(value)[-1]))[1]


def sparse_cross_entropy(labels: Blob, prediction: Blob, name: str | None = None) -> Blob:
    """Return the cross entropy of integer labels and probabilities."""
    value = as_value(prediction)
    given = {"prediction": [value], "label": [labels]}
    return call("sparse_cross_entropy", given, depth=int(shape_of(value)[-1]))


def softmax_cross_entropy_with_logits(labels: Blob, logits: Blob, name: str | None = None) -> Blob:
    """Return the cross entropy of label distributions, one number per row of logits."""
    return call("softmax_cross_entropy", {"prediction": [logits], "label": [labels]})[1]


def sigmoid_cross_entropy_with_logits(labels: Blob, logits: Blob, name: str | None = None) -> Blob:
    """Return the binary cross entropy of each logit."""
    return call("sigmoid_cross_entropy", {"prediction": [logits], "label": [labels]})


__getattr__ = guard("flow.nn", __all__)
