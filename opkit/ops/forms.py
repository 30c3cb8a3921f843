"""Op types that are special forms of others: available by name, without builders.

``SPECIAL_FORMS`` is the list of what it defines. A user's gradient registration or user_op_builder may name them. They
compute the same as the ops that they specialise.

Source: OneFlow v0.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.basis.arithmetic import div, mul, neg
from opkit.ops.basis.broadcasting import reduce_sum, reduce_sum_like
from opkit.ops.core.define import define, first_only, quiet
from opkit.ops.core.homes import HOMES
from opkit.ops.core.inference import like, unchanged
from opkit.ops.core.mode import perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.registry import BUILTIN
from opkit.ops.core.types import Values
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


#: The op types that this module adds.
SPECIAL_FORMS: tuple[str, ...] = tuple(HOMES["forms"].split())
