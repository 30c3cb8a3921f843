"""Op types that are special forms of others: available by name, without builders.

The module is long because ``SPECIAL_FORMS`` is the list of what it defines. A user's gradient registration or
user_op_builder may name them. They compute the same as the ops that they specialise.

Source: OneFlow v0.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.arrange.selection import add_rows
from opkit.ops.arrange.slicing import padded_index
from opkit.ops.basis.arithmetic import div, mul, neg, plus, scalar_mul
from opkit.ops.basis.broadcasting import broadcast_like, reduce_sum, reduce_sum_like
from opkit.ops.basis.creation import ones_like
from opkit.ops.core.define import define, first_only, quiet
from opkit.ops.core.homes import HOMES
from opkit.ops.core.inference import check_same_dtype, like, shape_error, unchanged
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.registry import BUILTIN
from opkit.ops.core.types import Attrs, Descs, Ints, Values
from opkit.ops.core.value import Value, ndim_of
from opkit.ops.network.layers import DROPOUT_GRAD, bias_add
from opkit.ops.pointwise.activation import GELU


# ---- the same value under another name -------------------------------------------------------------------------------
def _same(name: str, args: tuple[str, str] = ("in", "out"), attrs: str = "") -> OpDef:
    return define(
        name,
        args[0],
        args[1],
        lambda x, **_: x.copy(),
        infer=unchanged,
        attrs=attrs,
        grad=first_only(lambda applied, dout: dout),
    )


_same("amp_white_identity")
_same("cast_to_static_shape", ("input", "output"))
_same("copy", attrs="device_type:string device_id:int64")
_same(
    "hierarchical_parallel_cast",
    attrs="parallel_distribution:vector<string> grad_mode:string grad_parallel_distribution:vector<string>",
)


def _parallel_cast_rule(applied: Any, dout: Value) -> Value:
    attrs = {"sbp_parallel": applied.attrs["grad_sbp_parallel"], "grad_sbp_parallel": applied.attrs["sbp_parallel"]}
    return perform(PARALLEL_CAST, dout, **attrs) if attrs["sbp_parallel"] else dout


PARALLEL_CAST = define(
    "parallel_cast",
    "in",
    "out",
    lambda x, **_: x.copy(),
    infer=unchanged,
    attrs="sbp_parallel:string grad_sbp_parallel:string",
    grad=first_only(_parallel_cast_rule),
)


# ---- gradient ops that have a name of their own ----------------------------------------------------------------------
def _broadcast_div_grad(y: ndarray, z: ndarray, dz: ndarray) -> Any:
    """Return the gradient of z = x / y by y."""
    wide = -dz * z / y
    lead = wide.ndim - y.ndim
    axes = (*range(lead), *(i + lead for i, size in enumerate(y.shape) if size == 1 and wide.shape[i + lead] != 1))
    return np.add.reduce(wide, axes, keepdims=True).reshape(y.shape)


def _broadcast_div_grad_rule(applied: Any, douts: Values) -> Values:
    # dy = -sum(dz * z / y)
    y, z, dz = applied.inputs
    per = neg(div(douts[0], y))
    by_y = reduce_sum_like(neg(div(mul(mul(per, dz), z), y)), y)
    return by_y, mul(per, dz), mul(per, z)


define(
    "broadcast_div_grad",
    "y z dz",
    "dy",
    quiet(_broadcast_div_grad),
    infer=like(0),
    grad=_broadcast_div_grad_rule,
    reads="y z dz",
)


# ---- sums of squares, counts, regularisers ---------------------------------------------------------------------------
def _square_sum(*arrays: ndarray) -> ndarray:
    return np.array([sum(np.vdot(x, x) for x in arrays)], arrays[0].dtype)


def _one_element(op: str, dtype: str = "") -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_same_dtype(op, descs)
        return [TensorDesc((1,), dtype or descs[0].dtype)]

    return infer


def _square_sum_rule(applied: Any, douts: Values) -> Values:
    return [mul(scalar_mul(x, 2.0), douts[0]) for x in applied.inputs]


def _count_not_finite(*arrays: ndarray) -> ndarray:
    return np.array([sum(int(np.count_nonzero(~np.isfinite(x))) for x in arrays)], np.int64)


for _name, _args in (("square_sum", "x"), ("multi_square_sum", "*x")):
    define(_name, _args, "y", quiet(_square_sum), infer=_one_element(_name), grad=_square_sum_rule, reads="x")
for _name, _args in (("count_not_finite", "x"), ("multi_count_not_finite", "*x")):
    define(_name, _args, "y", _count_not_finite, infer=_one_element(_name, "int64"))


# ---- layer_norm's parameters -----------------------------------------------------------------------------------------
def _param_grad(
    dy: ndarray, normalized: ndarray | None, gamma: ndarray | None, begin_params_axis: int
) -> tuple[ndarray, ...]:
    lead = tuple(range(begin_params_axis % dy.ndim))
    outputs = [dy * gamma if gamma is not None else dy.copy(), np.add.reduce(dy, lead)]
    if normalized is not None:
        outputs.append(np.add.reduce(dy * normalized, lead))
    return tuple(outputs)


def _infer_param_grad(descs: Sequence[TensorDesc | None], attrs: Attrs) -> Descs:
    dy, normalized = descs[0], descs[1]
    if dy is None:
        raise shape_error("layer_norm_param_grad", descs, "dy is missing")
    tail = TensorDesc(dy.shape[attrs["begin_params_axis"] % dy.ndim :], dy.dtype)
    return [dy, tail] if normalized is None else [dy, tail, tail]


def _param_grad_rule(applied: Any, douts: Values) -> Values:
    dy, normalized, gamma = applied.inputs
    by_h, by_beta, by_gamma = (*douts, None)[:3]
    parts, by_normalized, to_gamma = [], None, None
    if by_h is not None:
        parts.append(by_h if gamma is None else mul(by_h, gamma))
        to_gamma = None if gamma is None else reduce_sum_like(mul(by_h, dy), gamma)
    if by_beta is not None:
        parts.append(mul(by_beta, ones_like(dy)))
    if by_gamma is not None:
        parts.append(mul(by_gamma, normalized))
        by_normalized = mul(by_gamma, dy)
    return reduce(plus, parts, None), by_normalized, to_gamma


define(
    "layer_norm_param_grad",
    "dy ?normalized ?gamma",
    "?normalized_diff ?beta_diff ?gamma_diff",
    quiet(_param_grad),
    infer=_infer_param_grad,
    attrs="begin_params_axis:int64",
    grad=_param_grad_rule,
    reads="dy normalized gamma",
)


# ---- fused bias and activation ---------------------------------------------------------------------------------------
def _with_bias(a: ndarray, b: ndarray, axis: int) -> Any:
    return a + b.reshape([-1 if i == axis % a.ndim else 1 for i in range(a.ndim)])


def _over_bias(cotangent: Value, axis: int) -> Value:
    ndim = ndim_of(cotangent)
    others = [i for i in range(ndim) if i != axis % ndim]
    return reduce_sum(cotangent, others) if others else cotangent


_GELU_GRAD: Any = BUILTIN.get("gelu_grad")


def _bias_gelu_rule(applied: Any, douts: Values) -> Values:
    a, b = applied.inputs
    axis = applied.attrs["axis"]
    dx = perform(_GELU_GRAD, bias_add(a, b, axis), douts[0])
    return dx, _over_bias(dx, axis)


define(
    "fused_bias_add_gelu",
    "a b",
    "out",
    quiet(lambda a, b, axis: GELU.kernel(_with_bias(a, b, axis))),
    infer=unchanged,
    attrs="axis:int32",
    grad=_bias_gelu_rule,
    reads="a b",
)


def _bias_mask(a: ndarray, b: ndarray, mask: ndarray, addend: ndarray | None, axis: int, scale: float) -> Any:
    out = _with_bias(a, b, axis) * mask * a.dtype.type(scale)
    return out if addend is None else out + addend


def _bias_mask_rule(applied: Any, douts: Values) -> Values:
    mask, addend = applied.inputs[2:]
    dx = perform(DROPOUT_GRAD, douts[0], mask, scale=applied.attrs["scale"])
    return dx, _over_bias(dx, applied.attrs["axis"]), None, None if addend is None else douts[0]


define(
    "fused_bias_add_mask_scale",
    "a b mask ?_add_to_output",
    "out",
    quiet(_bias_mask),
    infer=unchanged,
    attrs="axis:int32 scale:float",
    grad=_bias_mask_rule,
    reads="mask",
)


# ---- fused_scale_tril ------------------------------------------------------------------------------------------------
_TRIL_ATTRS = (
    "diagonal:int64 floating_fill_value:double integer_fill_value:int64 is_floating_fill_value:bool"
    " floating_scale_value:double integer_scale_value:int64 is_floating_scale_value:bool"
)
_TRIL_DEFAULTS = {"floating_scale_value": 1.0, "integer_scale_value": 1}


def _scale_tril(x: ndarray, diagonal: int, **attrs: Any) -> Any:
    fill = attrs["floating_fill_value"] if attrs["is_floating_fill_value"] else attrs["integer_fill_value"]
    scale = attrs["floating_scale_value"] if attrs["is_floating_scale_value"] else attrs["integer_scale_value"]
    keep = np.tri(x.shape[-2], x.shape[-1], k=diagonal, dtype=bool)
    return np.where(keep, x * x.dtype.type(scale), x.dtype.type(fill))


def _scale_tril_rule(applied: Any, dout: Value) -> Value:
    attrs = {**applied.attrs, "floating_fill_value": 0.0, "integer_fill_value": 0}
    return perform(SCALE_TRIL, dout, **attrs)


SCALE_TRIL = define(
    "fused_scale_tril",
    "in",
    "out",
    quiet(_scale_tril),
    infer=unchanged,
    attrs=_TRIL_ATTRS,
    defaults=_TRIL_DEFAULTS,
    grad=first_only(_scale_tril_rule),
)


# ---- pads of images: padding is (left, right, top, bottom) of NCHW ---------------------------------------------------
def _define_pad2d(name: str, mode: str) -> None:
    attrs = "padding:vector<int64> floating_value:double integral_value:int64"

    def sides(padding: Ints) -> tuple[tuple[int, int, int], ...]:
        left, right, top, bottom = padding
        return ((2, top, bottom), (3, left, right))

    def kernel(x: ndarray, padding: Ints, floating_value: float, integral_value: int) -> ndarray:
        if mode == "constant":
            widths = [(0, 0), (0, 0), *((first, last) for _, first, last in sides(padding))]
            value = floating_value if x.dtype.kind == "f" else integral_value
            return np.pad(x, widths, constant_values=value)
        for axis, first, last in sides(padding):
            x = np.take(x, padded_index(x.shape[axis], first, last, mode), axis)
        return x

    def slope(dy: ndarray, padding: Ints, **_: Any) -> ndarray:
        for axis, first, last in sides(padding):
            rows = np.moveaxis(dy, axis, 0)
            if mode == "constant":
                dy = np.moveaxis(rows[first : len(rows) - last].copy(), 0, axis)
                continue
            total = np.zeros((len(rows) - first - last, *rows.shape[1:]), dy.dtype)
            add_rows(total, rows, padded_index(len(total), first, last, mode))
            dy = np.moveaxis(total, 0, axis)
        return dy

    def infer(op: str, direction: int) -> Any:
        def shaped(descs: Descs, given: Attrs) -> Descs:
            shape = list(descs[0].shape)
            if len(shape) != 4 or len(given["padding"]) != 4:
                raise shape_error(op, descs, f"it takes 4 axes and 4 paddings, got {tuple(given['padding'])}")
            for axis, first, last in sides(given["padding"]):
                shape[axis] = -1 if shape[axis] == -1 else shape[axis] + direction * (first + last)
            return [TensorDesc(tuple(shape), descs[0].dtype)]

        return shaped

    def blank(given: Attrs) -> Attrs:
        return {**given, "floating_value": 0.0, "integral_value": 0}

    def back(applied: Any, dout: Value) -> Value:
        return perform(grad_op, dout, **blank(applied.attrs))

    def forth(applied: Any, dout: Value) -> Value:
        return perform(opdef, dout, **blank(applied.attrs))

    grad_name = f"{name}_grad"
    grad_op = define(grad_name, "dy", "dx", slope, infer=infer(grad_name, -1), attrs=attrs, grad=first_only(forth))
    opdef = define(name, "x", "y", kernel, infer=infer(name, 1), attrs=attrs, grad=first_only(back))


_define_pad2d("constant_pad2d", "constant")
_define_pad2d("reflection_pad2d", "reflect")
_define_pad2d("replication_pad2d", "replicate")


# ---- expand: broadcasting with strides -------------------------------------------------------------------------------
def _expand_back(dy: ndarray, out_shape: Ints, stride: Ints) -> Any:
    shape = tuple(out_shape)
    lead = dy.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, size in enumerate(shape) if size == 1 and dy.shape[i + lead] != 1))
    return np.add.reduce(dy, axes, keepdims=True).reshape(shape)


def _to_declared(descs: Descs, attrs: Attrs) -> Descs:
    return [TensorDesc(tuple(attrs["out_shape"]), descs[0].dtype)]


define(
    "expand",
    "in",
    "out",
    lambda x, in_shape, out_shape, stride: np.array(np.broadcast_to(x, tuple(out_shape))),
    infer=_to_declared,
    attrs="in_shape:vector<int32> out_shape:vector<int32> stride:vector<int32>",
    grad=first_only(lambda applied, dout: reduce_sum_like(dout, applied.inputs[0])),
)
define(
    "expand_grad",
    "in",
    "out",
    quiet(_expand_back),
    infer=_to_declared,
    attrs="out_shape:vector<int32> stride:vector<int32>",
    grad=first_only(lambda applied, dout: broadcast_like(dout, applied.inputs[0])),
)


#: The op types that this module adds.
SPECIAL_FORMS: tuple[str, ...] = tuple(HOMES["forms"].split())
