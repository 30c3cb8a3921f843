"""Layers of graphs by Paddle's names and argument order; what they build is ``opkit.paddle.semantics.layers``'s."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from opkit import static
from opkit.errors import UsageError
from opkit.ir import Variable, canonical_dtype
from opkit.listed import listed
from opkit.ops.core.types import Ints, Name
from opkit.ops.kernels.initializer import Initializer, constant
from opkit.paddle.framework.initializer import XavierUniform, global_or, recipe_of
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics import layers
from opkit.paddle.semantics.layers import Spec

__all__ = ["batch_norm", "conv2d", "conv2d_transpose", "embedding", "fc", "layer_norm", "prelu", "sparse_embedding"]


def _spec(attr: Any) -> Spec | None:
    """Return what a ``param_attr`` asks for, None for False."""
    given = ParamAttr.of(attr)
    if given is False:
        return None
    fields = {
        "regularizer": given.regularizer,
        "need_clip": given.need_clip,
        "optimize_attr": {"learning_rate": given.learning_rate},
    }
    return Spec(given.name or "", given.initializer and recipe_of(given.initializer), given.trainable, fields)


def _needed(attr: Any, layer: str) -> Spec:
    spec = _spec(attr)
    if spec is None:
        raise UsageError(f"{layer}: its weight cannot be left out (the attribute is False)")
    return spec


def _activation(name: str | None) -> Callable[[Any], Any] | None:
    """Return the activation that a layer's ``act`` names."""
    if name is None:
        return None
    functional = importlib.import_module("opkit.paddle.nn.functional")
    function = getattr(functional, name, None) if isinstance(name, str) else None
    if not callable(function):
        raise UsageError(f"there is no activation {name!r}")
    return function  # type: ignore[no-any-return]


def _activated(made: Any, act: str | None) -> Variable:
    activation = _activation(act)
    return made if activation is None else activation(made)  # type: ignore[no-any-return]


def _weight(attr_default: Initializer | None = None) -> Initializer:
    return recipe_of(global_or(attr_default or XavierUniform(), is_bias=False))


def _bias() -> Initializer:
    return recipe_of(global_or(constant(0.0), is_bias=True))


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: Name = None,
) -> Variable:
    """Return ``activation(x @ w + b)``.

    Args:
        x: a Variable, or a list of them, each with a weight of its own.
        size: width of the result.
        num_flatten_dims: how many axes stay.
        weight_attr: a ParamAttr, or a list with one per input.
        bias_attr: False for no bias.
        activation: name of a function of ``paddle.nn.functional``.
        name: of the layer.
    """
    inputs = listed(x)
    for item in inputs:
        if not isinstance(item, Variable):
            raise TypeError(f"static.nn.fc takes Variables, got {type(item).__name__}")
    attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    if len(attrs) != len(inputs):
        raise UsageError(f"static.nn.fc: {len(inputs)} inputs and {len(attrs)} weight_attr")
    return layers.fc(
        inputs,
        size,
        num_flatten_dims,
        weights=[_needed(attr, "fc") for attr in attrs],
        bias=_spec(bias_attr),
        activation=_activation(activation),
        initializers=(_weight(), _bias()),
        name=name or "",
    )


def embedding(
    input: Any,
    size: Ints,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Variable:
    """Return the rows of a table of ``size`` (rows, columns) that integer indices name."""
    return layers.embedding(
        input,
        size,
        spec=_needed(param_attr, "embedding"),
        initializer=_weight(),
        dtype=canonical_dtype(dtype),
        padding_idx=padding_idx,
    )


def sparse_embedding(input: Any, size: Ints, padding_idx: int | None = None, **others: Any) -> Variable:
    """Return the rows of a table that integer indices name (opkit's table is a dense one)."""
    return embedding(
        input, size, padding_idx=padding_idx, param_attr=others.get("param_attr"), dtype=others.get("dtype", "float32")
    )


def conv2d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: Name = None,
    data_format: str = "NCHW",
) -> Variable:
    """Return a convolution of images with ``num_filters`` filters; filters start as Kaiming's normal distribution."""
    functional: Any = importlib.import_module("opkit.paddle.nn.functional")
    channels_last = data_format == "NHWC"
    bias = _spec(bias_attr)
    layer = name or static.unique_name("conv2d")
    weight = layers.filter_of(
        layer, _needed(param_attr, "conv2d"), input, num_filters, filter_size, groups or 1, channels_last=channels_last
    )
    with static.name_outputs(layer):
        made = functional.conv2d(input, weight, None, stride, padding, dilation, groups or 1, data_format=data_format)
        return _finished(made, layer, bias, act, axis=-1 if channels_last else 1)


def conv2d_transpose(
    input: Any,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: Name = None,
    data_format: str = "NCHW",
) -> Variable:
    """Return a transposed convolution of images with ``num_filters`` filters.

    Args:
        input: (batch, channels, height, width), or with the channels last.
        num_filters: channels of the result.
        output_size: its height and width; without a ``filter_size`` the filter is as large as they need.
        filter_size: height and width of the filters.
        padding: as ``paddle.nn.functional.conv2d_transpose`` takes it, like stride, dilation and groups.
        stride: distance of the filters.
        dilation: distance of a filter's elements.
        groups: groups of channels.
        param_attr: of the filters, (channels, num_filters / groups, height, width).
        bias_attr: False for no bias.
        use_cudnn: accepted, without effect.
        act: name of a function of ``paddle.nn.functional``.
        name: of the layer.
        data_format: "NCHW" or "NHWC".

    Raises:
        UsageError: there is neither a filter_size nor an output_size.
    """
    functional: Any = importlib.import_module("opkit.paddle.nn.functional")
    channels_last = data_format == "NHWC"
    window = _pair(filter_size) if filter_size is not None else None
    if window is None:
        window = _window_for(input, output_size, _pair(stride), padding, _pair(dilation), channels_last=channels_last)
    bias, layer = _spec(bias_attr), name or static.unique_name("conv2d_transpose")
    shape = (input.shape[-1 if channels_last else 1], num_filters // (groups or 1), *window)
    spec = _needed(param_attr, "conv2d_transpose")
    weight = layers.parameter_of(layer, "w", spec, shape, input.desc.dtype, _weight())
    with static.name_outputs(layer):
        windows = {"dilation": dilation, "groups": groups or 1, "data_format": data_format}
        size = None if filter_size is None else output_size
        made = functional.conv2d_transpose(input, weight, None, stride, padding, output_size=size, **windows)
        return _finished(made, layer, bias, act, axis=-1 if channels_last else 1)


def _finished(made: Any, layer: str, bias: Spec | None, act: str | None, *, axis: int) -> Variable:
    """Return a convolution with its bias, one number for each filter along an axis, and its activation."""
    if bias is not None:
        vector = layers.parameter_of(layer, "b", bias, (made.shape[axis],), made.desc.dtype, _bias())
        made = ops.bias_add(made, vector, axis)
    return _activated(made, act)


def _pair(item: Any) -> tuple[int, int]:
    first, second = (item, item) if isinstance(item, int) else item
    return int(first), int(second)


def _window_for(
    x: Variable, size: Any, stride: tuple[int, int], padding: Any, dilation: tuple[int, int], *, channels_last: bool
) -> tuple[int, int]:
    """Return the filter that makes a result of this size of an image."""
    if size is None:
        raise UsageError("conv2d_transpose takes a filter_size or an output_size, both are None")
    if isinstance(padding, str):
        raise UsageError(f"conv2d_transpose: padding {padding!r} needs a filter_size")
    own = x.shape[1:3] if channels_last else x.shape[2:4]
    edges = zip(_pair(size), own, stride, _pair(padding), dilation)
    height, width = ((out - (item - 1) * step + 2 * pad - 1) // far + 1 for out, item, step, pad, far in edges)
    return height, width


def batch_norm(
    input: Any,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: Name = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Variable:
    """Return the input normalised per channel; its running statistics are used in a clone for test."""
    made = layers.batch_norm(
        input,
        axis=input.ndim - 1 if data_layout == "NHWC" else min(1, input.ndim - 1),
        training=not (is_test or use_global_stats),
        momentum=momentum,
        epsilon=epsilon,
        scale=_needed(param_attr, "batch_norm"),
        shift=_needed(bias_attr, "batch_norm"),
        names=(moving_mean_name or "", moving_variance_name or ""),
        layer=name or static.unique_name("batch_norm"),
    )
    return _activated(made, act)


def layer_norm(
    input: Any,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: Name = None,
) -> Variable:
    """Return the input normalised over the axes from ``begin_norm_axis`` on."""
    made = layers.layer_norm(
        input,
        begin_norm_axis,
        epsilon=epsilon,
        scale=_needed(param_attr, "layer_norm") if scale else None,
        shift=_needed(bias_attr, "layer_norm") if shift else None,
        layer=name or static.unique_name("layer_norm"),
    )
    return _activated(made, act)


def prelu(x: Any, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: Name = None) -> Variable:
    """Return x where it is positive, else x times a slope: one ("all"), or one per channel ("channel")."""
    if mode not in ("all", "channel"):
        raise UsageError(f"prelu: mode is 'all' or 'channel', got {mode!r}")
    functional: Any = importlib.import_module("opkit.paddle.nn.functional")
    axis = -1 if data_format == "NHWC" else 1
    count = 1 if mode == "all" else x.shape[axis]
    layer = name or static.unique_name("prelu")
    slope = layers.parameter_of(layer, "w", _needed(param_attr, "prelu"), (count,), x.desc.dtype, constant(0.25))
    with static.name_outputs(layer):
        return functional.prelu(x, slope, data_format=data_format)  # type: ignore[no-any-return]
