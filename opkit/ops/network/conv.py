"""Convolutions over 1, 2 and 3 axes, their gradient ops and their transposes.

The products themselves are in ``opkit.ops.kernels.columns``, pools in ``opkit.ops.network.pool``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UsageError
from opkit.ir import Shape, TensorDesc
from opkit.ops.basis.broadcasting import broadcast_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, check_same_dtype, is_same_size, like, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Ints, Out, Values
from opkit.ops.core.value import Value, ndim_of, shape_of
from opkit.ops.kernels.columns import (
    Window,
    by_data,
    by_weight,
    first_shape,
    forward,
    from_first,
    given_shape,
    is_last,
    to_first,
)
from opkit.ops.network.layers import bias_add

_ATTRS = (
    "filters:int32 padding_before:vector<int32> data_format:string kernel_size:vector<int32>"
    " strides:vector<int32> dilation_rate:vector<int32> groups:int32"
)
_GRAD_ATTRS = (
    "num_spatial_dims:int32 padding_before:vector<int32> data_format:string kernel_size:vector<int32>"
    " strides:vector<int32> dilation_rate:vector<int32> groups:int32"
)
_DEFAULTS = {"data_format": "channels_first", "groups": 1}


# ---- kernels ---------------------------------------------------------------------------------------------------------
def _weight_first(weight: ndarray, attrs: Attrs) -> ndarray:
    return np.moveaxis(weight, -1, 1) if is_last(attrs) else weight


def _wide(x: ndarray) -> ndarray:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _direct(out: ndarray | None, attrs: Attrs) -> ndarray | None:
    """Return the buffer where the products can write into it as they are."""
    is_fit = out is not None and not is_last(attrs) and out.dtype != np.float16 and out.flags.c_contiguous
    return out if is_fit else None


def _delivered(result: ndarray, out: ndarray | None) -> ndarray:
    if out is None or result is out:
        return result
    np.copyto(out, result)
    return out


@quiet
def _conv(
    x: ndarray, weight: ndarray, bias: ndarray | None, unused: Any = None, out: Out = None, **attrs: Any
) -> ndarray:
    y = forward(_wide(to_first(x, attrs)), _wide(_weight_first(weight, attrs)), attrs, _direct(out, attrs))
    if bias is not None:
        y += bias.reshape(-1, *(1,) * (y.ndim - 2))
    return _delivered(from_first(y, attrs).astype(x.dtype, copy=False), out)


@quiet
def _data_grad(
    dy: ndarray, weight: ndarray, x_like: Any, addend: ndarray | None, out: Out = None, **attrs: Any
) -> ndarray:
    shape = first_shape(x_like.shape, attrs)
    first, filters = _wide(to_first(dy, attrs)), _wide(_weight_first(weight, attrs))
    dx = by_data(first, filters, shape, attrs, _direct(out, attrs))
    dx = from_first(dx, attrs).astype(dy.dtype, copy=False)
    if addend is not None:
        dx += addend
    return _delivered(dx, out)


@quiet
def _filter_grad(dy: ndarray, x: ndarray, **attrs: Any) -> ndarray:
    found = by_weight(_wide(to_first(dy, attrs)), _wide(to_first(x, attrs)), attrs)
    return from_first(found, attrs).astype(dy.dtype, copy=False)


@quiet
def _bias_grad(dy: ndarray, num_spatial_dims: int, data_format: str) -> Any:
    last = is_last({"data_format": data_format})
    return np.add.reduce(_wide(dy), tuple(i for i in range(dy.ndim) if i != (dy.ndim - 1 if last else 1))).astype(
        dy.dtype, copy=False
    )


# ---- inference -------------------------------------------------------------------------------------------------------
def _groups(op: str, descs: Sequence[TensorDesc | None], attrs: Attrs) -> int:
    groups: int = attrs["groups"]
    if min(groups, *attrs["strides"], *attrs["dilation_rate"]) < 1:
        raise shape_error(op, descs, "groups, strides and dilations must be at least 1")
    return groups


def _infer_conv(op: str, spatial: int) -> Any:
    def infer(descs: Sequence[TensorDesc | None], attrs: Attrs) -> Descs:
        x, weight, bias = descs[:3]
        if x is None or weight is None or x.ndim != spatial + 2 or weight.ndim != spatial + 2:
            raise shape_error(op, descs, f"input and weight must have {spatial + 2} axes")
        check_same_dtype(op, [x, weight])
        check_floating(op, [x])
        shape, filter_shape = first_shape(x.shape, attrs), first_shape(weight.shape, attrs)
        groups = _groups(op, descs, attrs)
        if not is_same_size(shape[1], filter_shape[1] * groups) or filter_shape[0] % groups:
            why = f"{shape[1]} channels do not fit {filter_shape[0]} filters of {filter_shape[1]} in {groups} groups"
            raise shape_error(op, [x, weight], why)
        if tuple(attrs["kernel_size"]) != filter_shape[2:]:
            raise shape_error(op, [x, weight], f"kernel_size {tuple(attrs['kernel_size'])} is not the weight's")
        if bias is not None and (bias.ndim != 1 or bias.shape[0] != filter_shape[0]):
            raise shape_error(op, descs, f"the bias must be a vector of {filter_shape[0]}")
        sizes = Window(attrs, shape[2:]).outputs
        if any(size != -1 and size < 1 for size in sizes):
            raise shape_error(op, [x, weight], f"the kernel is larger than the padded input (output sizes {sizes})")
        return [TensorDesc(given_shape((shape[0], filter_shape[0], *sizes), attrs), x.dtype)]

    return infer


def _infer_filter(descs: Descs, attrs: Attrs) -> Descs:
    dy, x = first_shape(descs[0].shape, attrs), first_shape(descs[1].shape, attrs)
    shape = (dy[1], x[1] // attrs["groups"], *attrs["kernel_size"])
    return [TensorDesc(given_shape(shape, attrs), descs[0].dtype)]


# ---- gradients: each product is the others' --------------------------------------------------------------------------
def _grad_attrs(attrs: Attrs) -> dict[str, Any]:
    names = ("padding_before", "data_format", "kernel_size", "strides", "dilation_rate", "groups")
    return {"num_spatial_dims": len(attrs["kernel_size"]), **{name: attrs[name] for name in names}}


def _conv_like(dy: Value, weight: Value, attrs: Attrs) -> Value:
    """Apply the convolution that these attributes belong to."""
    forward = {key: value for key, value in attrs.items() if key != "num_spatial_dims"}
    forward["filters"] = shape_of(weight)[0]
    return perform(_CONVS[len(attrs["kernel_size"])], dy, weight, None, None, **forward)


def _to_data(dy: Value, weight: Value, x: Value, attrs: Attrs) -> Value:
    return perform(CONV_DATA_GRAD, dy, weight, x, None, **_grad_attrs(attrs))


def _to_filter(dy: Value, x: Value, attrs: Attrs) -> Value:
    return perform(CONV_FILTER_GRAD, dy, x, **_grad_attrs(attrs))


def _to_bias(dy: Value, attrs: Attrs) -> Value:
    bias_attrs = {"num_spatial_dims": len(attrs["kernel_size"]), "data_format": attrs["data_format"]}
    return perform(CONV_BIAS_GRAD, dy, **bias_attrs)


def _conv_rule(applied: Any, douts: Values) -> Values:
    x, weight = applied.inputs[:2]
    need_x, need_weight, need_bias = applied.needs[:3]
    dy, attrs = douts[0], applied.attrs
    return (
        _to_data(dy, weight, x, attrs) if need_x else None,
        _to_filter(dy, x, attrs) if need_weight else None,
        _to_bias(dy, attrs) if need_bias else None,
        None,
    )


def _data_rule(applied: Any, douts: Values) -> Values:
    dy, weight, _, addend = applied.inputs
    need_dy, need_weight = applied.needs[:2]
    g, attrs = douts[0], applied.attrs
    by_dy = _conv_like(g, weight, attrs) if need_dy else None
    by_weight = _to_filter(dy, g, attrs) if need_weight else None
    return by_dy, by_weight, None, None if addend is None else g


def _filter_rule(applied: Any, douts: Values) -> Values:
    dy, x = applied.inputs
    need_dy, need_x = applied.needs
    g, attrs = douts[0], applied.attrs
    return _conv_like(x, g, attrs) if need_dy else None, _to_data(dy, g, x, attrs) if need_x else None


def _bias_rule(applied: Any, douts: Values) -> Values:
    dy = applied.inputs[0]
    axis = len(shape_of(dy)) - 1 if is_last(applied.attrs) else 1
    return (broadcast_like(douts[0], dy, [i for i in range(len(shape_of(dy))) if i != axis]),)


_SHARED: dict[str, Any] = {"defaults": _DEFAULTS, "reads": "in weight"}


def _define_conv(spatial: int) -> OpDef:
    name, inputs = f"conv{spatial}d", "in weight ?bias ?bias_multiplier"
    infer = _infer_conv(name, spatial)
    return define(name, inputs, "out", _conv, infer=infer, attrs=_ATTRS, grad=_conv_rule, out=_conv, **_SHARED)


_CONVS = {spatial: _define_conv(spatial) for spatial in (1, 2, 3)}
CONV_DATA_GRAD = define(
    "conv_data_grad",
    "dy filter =x_like ?_add_to_output",
    "dx",
    _data_grad,
    infer=like(2),
    attrs=_GRAD_ATTRS,
    defaults=_DEFAULTS,
    grad=_data_rule,
    reads="dy filter",
    out=_data_grad,
)
CONV_FILTER_GRAD = define(
    "conv_filter_grad",
    "dy x",
    "filter_diff",
    _filter_grad,
    infer=_infer_filter,
    attrs=_GRAD_ATTRS,
    defaults=_DEFAULTS,
    grad=_filter_rule,
    reads="dy x",
)
CONV_BIAS_GRAD = define(
    "conv_bias_grad",
    "dy",
    "bias_diff",
    _bias_grad,
    infer=lambda descs, attrs: [TensorDesc((first_shape(descs[0].shape, attrs)[1],), descs[0].dtype)],
    attrs="num_spatial_dims:int32 data_format:string",
    defaults={"data_format": "channels_first"},
    grad=_bias_rule,
)


# ---- transposed convolution ------------------------------------------------------------------------------------------
def _transposed_sizes(shape: Ints, attrs: Attrs) -> Shape:
    return tuple(
        -1 if n == -1 else (n - 1) * s - 2 * p + d * (k - 1) + 1 + extra
        for n, s, p, d, k, extra in zip(
            shape[2:],
            attrs["strides"],
            attrs["padding_before"],
            attrs["dilation_rate"],
            attrs["kernel_size"],
            attrs["output_padding"],
        )
    )


@quiet
def _deconv(x: ndarray, weight: ndarray, **attrs: Any) -> ndarray:
    first = _wide(to_first(x, attrs))
    filters = _wide(_weight_first(weight, attrs))
    shape = (first.shape[0], filters.shape[1] * attrs["groups"], *_transposed_sizes(first.shape, attrs))
    return from_first(by_data(first, filters, shape, attrs), attrs).astype(x.dtype, copy=False)


def _infer_deconv(op: str, spatial: int) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        x, weight = descs
        if x.ndim != spatial + 2 or weight.ndim != spatial + 2:
            raise shape_error(op, descs, f"input and weight must have {spatial + 2} axes")
        check_same_dtype(op, descs)
        shape, filter_shape = first_shape(x.shape, attrs), first_shape(weight.shape, attrs)
        if not is_same_size(shape[1], filter_shape[0]):
            raise shape_error(op, descs, f"{shape[1]} channels do not fit a weight for {filter_shape[0]}")
        channels = filter_shape[1] * _groups(op, descs, attrs)
        return [TensorDesc(given_shape((shape[0], channels, *_transposed_sizes(shape, attrs)), attrs), x.dtype)]

    return infer


def _deconv_rule(applied: Any, douts: Values) -> Values:
    x, weight = applied.inputs
    need_x, need_weight = applied.needs
    attrs = _grad_attrs(applied.attrs)
    dx = _conv_like(douts[0], weight, attrs) if need_x else None
    return dx, _to_filter(x, douts[0], attrs) if need_weight else None


def _define_deconv(spatial: int) -> OpDef:
    name, attrs = f"deconv{spatial}d", f"{_ATTRS} output_padding:vector<int32>"
    infer = _infer_deconv(name, spatial)
    return define(name, "in weight", "out", _deconv, infer=infer, attrs=attrs, grad=_deconv_rule, **_SHARED)


_DECONVS = {spatial: _define_deconv(spatial) for spatial in (1, 2, 3)}


# ---- builders --------------------------------------------------------------------------------------------------------
def window_list(item: Any, count: int, what: str) -> tuple[int, ...]:
    """Return one number per spatial axis, from a number or a sequence.

    Raises:
        UsageError: it has another length.
    """
    numbers = tuple(int(n) for n in item) if isinstance(item, (tuple, list)) else (int(item),) * count
    if len(numbers) != count:
        raise UsageError(f"{what} needs {count} numbers, got {item!r}")
    return numbers


def _attrs(weight: Value, strides: Any, padding: Any, dilations: Any, groups: int, data_format: str) -> dict[str, Any]:
    spatial = ndim_of(weight) - 2
    if spatial not in _CONVS:
        raise ShapeError(f"op 'conv': a weight has 3, 4 or 5 axes, got shape {shape_of(weight)}")
    attrs: dict[str, Any] = {
        "padding_before": window_list(padding, spatial, "padding"),
        "data_format": data_format,
        "strides": window_list(strides, spatial, "stride"),
        "dilation_rate": window_list(dilations, spatial, "dilation"),
        "groups": int(groups),
    }
    attrs["kernel_size"] = first_shape(shape_of(weight), attrs)[2:]
    return attrs


def conv(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    strides: Any = 1,
    padding: Any = 0,
    dilations: Any = 1,
    groups: int = 1,
    data_format: str = "channels_first",
) -> Value:
    """Return a convolution (cross-correlation) over 1, 2 or 3 axes, by the weight's number of axes.

    Args:
        x: ``(N, C, sizes...)``; channels_last: ``(N, sizes..., C)``.
        weight: ``(F, C/groups, kernel...)``; channels_last: ``(F, kernel..., C/groups)``.
        bias: ``(F,)`` or None.
        strides: a number or one per axis.
        padding: zeros on both sides, a number or one per axis.
        dilations: a number or one per axis.
        groups: channels and filters fall into this many groups.
        data_format: "channels_first" or "channels_last".
    """
    attrs = _attrs(weight, strides, padding, dilations, groups, data_format)
    attrs["filters"] = shape_of(weight)[0]
    return perform(_CONVS[ndim_of(weight) - 2], x, weight, bias, None, **attrs)


def conv_transpose(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    strides: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilations: Any = 1,
    groups: int = 1,
    data_format: str = "channels_first",
) -> Value:
    """Return the transposed convolution: the adjoint of ``conv``, for a weight ``(C, F/groups, kernel...)``."""
    attrs = _attrs(weight, strides, padding, dilations, groups, data_format)
    attrs["output_padding"] = window_list(output_padding, ndim_of(weight) - 2, "output_padding")
    attrs["filters"] = first_shape(shape_of(weight), attrs)[1] * groups
    out = perform(_DECONVS[ndim_of(weight) - 2], x, weight, **attrs)
    return out if bias is None else bias_add(out, bias, -1 if is_last(attrs) else 1)
