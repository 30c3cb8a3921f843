"""``flow.layers``: ops with their variables (OneFlow v0.4 names)."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow import array, nn
from opkit.oneflow.initializers import Regularizer, constant_initializer, xavier_uniform_initializer
from opkit.oneflow.scope import namespace
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.session import session
from opkit.oneflow.user_op import as_value, call
from opkit.oneflow.variable import get_variable
from opkit.ops.core.types import Function, Ints
from opkit.ops.core.value import dtype_of, shape_of
from opkit.ops.kernels.initializer import Initializer
from opkit.shim.missing import guard

__all__ = [
    "batch_normalization",
    "batch_normalization_add_relu",
    "batch_normalization_relu",
    "categorical_ordinal_encoder",
    "conv2d",
    "dense",
    "layer_norm",
    "prelu",
    "upsample_2d",
]

Blob = Any
Activation = Function | None


def dense(
    inputs: Blob,
    units: int,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str = "Dense",
    model_distribute: Any = None,
) -> Blob:
    """Return ``activation(inputs @ weight.T + bias)``; variables NAME-weight (units, inputs) and NAME-bias (units,).

    Args:
        inputs: (..., features).
        units: size of the result's last axis.
        activation: a function of a blob that takes ``name=``.
        model_distribute: how weight and bias lie on several devices.

    Raises:
        ShapeError: the input has fewer than two axes.
    """
    value = as_value(inputs)
    sizes = shape_of(value)
    if len(sizes) < 2:
        raise ShapeError(f"flow.layers.dense takes a blob of two or more axes, got shape {sizes}")
    flat = ops.reshape(value, (-1, sizes[-1])) if len(sizes) > 2 else value
    dtype = dtype_of(value).name
    with namespace(name):
        weight = _variable(
            "weight", (units, sizes[-1]), dtype, kernel_initializer, kernel_regularizer, trainable, model_distribute
        )
        out = ops.matmul(flat, weight, False, True)
        if use_bias:
            bias = _variable("bias", (units,), dtype, bias_initializer, bias_regularizer, trainable, model_distribute)
            out = nn.bias_add(out, bias)
        if callable(activation):
            out = activation(out, name="activation")
    return array.reshape(out, [*sizes[:-1], units]) if len(sizes) > 2 else out


def conv2d(
    inputs: Blob,
    filters: int,
    kernel_size: int | Ints = 1,
    strides: int | Ints = 1,
    padding: Any = "VALID",
    data_format: str = "NCHW",
    dilation_rate: int | Ints | None = None,
    groups: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str = "Conv2d",
    weight_name: str | None = None,
    bias_name: str | None = None,
) -> Blob:
    """Convolve images with a variable's filters; variables NAME-weight and NAME-bias.

    Raises:
        UsageError: ``groups`` divides neither the filters nor the channels.
    """
    value = as_value(inputs)
    sizes = shape_of(value)
    window = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    first = data_format.upper() == "NCHW"
    channels = sizes[1] if first else sizes[-1]
    if groups <= 0 or filters % groups or channels % groups:
        raise UsageError(f"flow.layers.conv2d: groups {groups} must divide {filters} filters and {channels} channels")
    inner = channels // groups
    shape = (filters, inner, *window) if first else (filters, *window, inner)
    dtype = dtype_of(value).name
    recipe = kernel_initializer or xavier_uniform_initializer(data_format=data_format)
    weight = _named(name, weight_name, "weight", shape, dtype, recipe, kernel_regularizer, trainable)
    out = nn.conv2d(value, weight, strides, padding, data_format, dilation_rate, groups, name)
    if use_bias:
        bias = _named(name, bias_name, "bias", (filters,), dtype, bias_initializer, bias_regularizer, trainable)
        out = nn.bias_add(out, bias, data_format)
    if callable(activation):
        with namespace(name):
            out = activation(out, name="activation")
    return out


def layer_norm(
    inputs: Blob,
    center: bool = True,
    scale: bool = True,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-5,
    name: str = "LayerNorm",
) -> Blob:
    """Normalise each sample; variables NAME-gamma and NAME-beta."""
    value = as_value(inputs)
    shape, dtype = shape_of(value)[begin_params_axis:], dtype_of(value).name
    with namespace(name):
        beta = _variable("beta", shape, dtype, constant_initializer(0.0), None, trainable) if center else None
        gamma = _variable("gamma", shape, dtype, constant_initializer(1.0), None, trainable) if scale else None
    return nn.layer_norm(value, gamma, beta, begin_norm_axis, begin_params_axis, epsilon)


def batch_normalization(
    inputs: Blob,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer | None = None,
    gamma_initializer: Initializer | None = None,
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    moving_mean_initializer: Initializer | None = None,
    moving_variance_initializer: Initializer | None = None,
    trainable: bool = True,
    training: bool = True,
    name: str = "BatchNorm",
    gamma_name: str | None = None,
    beta_name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
) -> Blob:
    """Normalise over all axes except one.

    A train job uses the batch's statistics and moves ``NAME-moving_mean`` and ``NAME-moving_variance`` by
    ``momentum``; a predict job uses the moved ones.
    """
    value = as_value(inputs)
    sizes, dtype = shape_of(value), dtype_of(value).name
    at = axis % len(sizes)
    shape = (sizes[at],)
    one, zero = constant_initializer(1.0), constant_initializer(0.0)

    def made(given: str | None, part: str, recipe: Initializer, term: Regularizer | None, train: bool) -> Blob:
        return _named(name, given, part, shape, dtype, recipe, term, train)

    beta = made(beta_name, "beta", beta_initializer or zero, beta_regularizer, trainable) if center else None
    gamma = made(gamma_name, "gamma", gamma_initializer or one, gamma_regularizer, trainable) if scale else None
    mean = made(moving_mean_name, "moving_mean", moving_mean_initializer or zero, None, False)
    variance = made(moving_variance_name, "moving_variance", moving_variance_initializer or one, None, False)
    job = session().current_job("flow.layers.batch_normalization")
    if not (training and trainable and job.kind == "train"):
        return nn.batch_normalization(value, mean, variance, beta, gamma, epsilon, at)
    others = [item for item in range(len(sizes)) if item != at]
    batch_mean, batch_variance = nn.moments(value, others)
    for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
        moved = ops.add(ops.mul(ops.identity(moving), momentum), ops.mul(batch, 1.0 - momentum))
        array.assign(moving, moved)
    return nn.batch_normalization(value, batch_mean, batch_variance, beta, gamma, epsilon, at)


def batch_normalization_add_relu(inputs: Blob, addend: Blob | None = None, axis: int = -1, **settings: Any) -> Blob:
    """Return ``relu(batch_normalization(inputs) + addend)``; for the other arguments see there."""
    out = batch_normalization(inputs, axis, **settings)
    return ops.relu(out if addend is None else ops.add(out, as_value(addend)))


def batch_normalization_relu(inputs: Blob, axis: int = -1, **settings: Any) -> Blob:
    """Return ``relu(batch_normalization(inputs))``; the other arguments are those of ``batch_normalization``."""
    return batch_normalization_add_relu(inputs, None, axis, **settings)


def categorical_ordinal_encoder(
    input_tensor: Blob, capacity: int, hash_precomputed: bool = True, name: str = "CategoricalOrdinalEncoder"
) -> Blob:
    """Return each value's ordinal, from 1 in the order of first sight; variables NAME-Table and NAME-Size.

    Args:
        input_tensor: integers.
        capacity: how many values there may be; beyond them the run stops.
        hash_precomputed: has to be true, as in v0.4.
    """
    if not hash_precomputed:
        raise UsageError("flow.layers.categorical_ordinal_encoder: hash_precomputed is true, as in OneFlow v0.4")
    value = as_value(input_tensor)
    dtype = dtype_of(value).name
    with namespace(name):
        table = _variable("Table", (capacity * 2,), dtype, None, None, False)
        size = _variable("Size", (1,), dtype, None, None, False)
    return call("CategoricalOrdinalEncode", table, size, value)


def prelu(
    inputs: Blob,
    alpha_initializer: Initializer | None = None,
    alpha_regularizer: Regularizer | None = None,
    shared_axes: Ints | None = None,
    trainable: bool = True,
    name: str = "PRelu",
    model_distribute: Any = None,
) -> Blob:
    """Return ``x`` where positive, else ``alpha * x``; variable NAME-alpha of the shape of a sample.

    Args:
        inputs: (batch, ...).
        shared_axes: axes (from 1) along which there is one alpha.

    Raises:
        ShapeError: an axis is not one of a sample's.
    """
    value = as_value(inputs)
    sizes = shape_of(value)
    shape = list(sizes[1:])
    for axis in shared_axes or ():
        if not 1 <= axis < len(sizes):
            raise ShapeError(f"flow.layers.prelu: shared axis {axis} is not one of 1 to {len(sizes) - 1}")
        shape[axis - 1] = 1
    dtype = dtype_of(value).name
    with namespace(name):
        alpha = _variable("alpha", shape, dtype, alpha_initializer, alpha_regularizer, trainable, model_distribute)
    return call("prelu", value, alpha)


def upsample_2d(
    x: Blob,
    size: int | Ints = (2, 2),
    align_corners: bool = False,
    data_format: str = "NCHW",
    interpolation: str = "nearest",
    name: str = "Upsample2D",
) -> Blob:
    """Return images ``size`` times as high and wide.

    Args:
        x: (batch, channels, height, width), or channels last with ``data_format`` "NHWC".
        size: one factor, or one for the height and one for the width.
        align_corners: whether the corners' pixels stay at the corners ("bilinear" alone).
        interpolation: "nearest" or "bilinear".

    Raises:
        UsageError: one of these is another.
    """
    op = "flow.layers.upsample_2d"
    factors = [size] * 2 if isinstance(size, int) else list(size)
    if len(factors) != 2 or interpolation not in ("nearest", "bilinear") or data_format.upper() not in ("NCHW", "NHWC"):
        raise UsageError(
            f"{op} takes one factor or two, interpolation nearest or bilinear, and data_format NCHW or NHWC, got "
            f"{size!r}, {interpolation!r}, {data_format!r}"
        )
    if interpolation == "nearest" and align_corners:
        raise UsageError(f"{op}: align_corners needs interpolation='bilinear'")
    is_last, value = data_format.upper() == "NHWC", as_value(x)
    out = call(
        "upsample",
        ops.transpose(value, [0, 3, 1, 2]) if is_last else value,
        height_scale=float(factors[0]),
        width_scale=float(factors[1]),
        align_corners=align_corners,
        data_format="channels_first",
        interpolation=interpolation,
    )
    return ops.transpose(out, [0, 2, 3, 1]) if is_last else out


def _variable(
    name: str,
    shape: Ints,
    dtype: str,
    initializer: Initializer | None,
    regularizer: Regularizer | None,
    trainable: bool,
    distribute: Any = None,
) -> Blob:
    return get_variable(
        name,
        shape=tuple(shape),
        dtype=dtype,
        initializer=initializer or constant_initializer(0),
        regularizer=regularizer,
        trainable=trainable,
        distribute=distribute,
        reuse=False,
    )


def _named(
    layer: str,
    given: str | None,
    part: str,
    shape: Ints,
    dtype: str,
    initializer: Initializer | None,
    regularizer: Regularizer | None,
    trainable: bool,
) -> Blob:
    """Return a variable under the given name, else under LAYER-PART."""
    if given is not None:
        return _variable(given, shape, dtype, initializer, regularizer, trainable)
    with namespace(layer):
        return _variable(part, shape, dtype, initializer, regularizer, trainable)


__getattr__ = guard("flow.layers", __all__)
