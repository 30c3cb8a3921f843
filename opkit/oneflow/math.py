"""``flow.math``: arithmetic, elementwise functions, reductions (OneFlow v0.4 names).

Names and argument order only; the ops are in ``opkit.ops``. A full reduction gives a blob of shape (1,), as in OneFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.oneflow.array import broadcast_to_compatible_with
from opkit.oneflow.places import (
    top_k,
    unsorted_batch_segment_sum,
    unsorted_segment_sum,
    unsorted_segment_sum_like,
)
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Function, Ints, Name
from opkit.ops.core.value import shape_of
from opkit.shim.missing import guard

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "broadcast_to_compatible_with",
    "ceil",
    "clip_by_value",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "fused_scale_tril",
    "gelu",
    "gelu_grad",
    "greater",
    "greater_equal",
    "l2_normalize",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "relu",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sigmoid_grad",
    "sigmoid_v2",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "tanh_v2",
    "top_k",
    "tril",
    "unsorted_batch_segment_sum",
    "unsorted_segment_sum",
    "unsorted_segment_sum_like",
]

Blob = Any
Axis = int | Ints | None


def _value(item: Any) -> Any:
    return item if isinstance(item, (int, float)) else as_value(item)


def _binary(builder: Function, doc: str) -> Function:
    def function(x: Blob, y: Blob, name: Name = None) -> Blob:
        return builder(_value(x), _value(y))

    function.__doc__ = doc
    return function


def _unary(op: str) -> Function:
    builder = getattr(ops, op)

    def function(x: Blob, name: Name = None) -> Blob:
        return builder(as_value(x))

    function.__doc__ = f"Return ``{op}(x)``, element by element."
    return function


# ---- two operands ----------------------------------------------------------------------------------------------------
add = _binary(ops.add, "Return ``x + y``.")
subtract = _binary(ops.sub, "Return ``x - y``.")
multiply = _binary(ops.mul, "Return ``x * y``.")
divide = _binary(ops.div, "Return ``x / y``.")
mod = floormod = _binary(ops.floor_mod, "Return the remainder of ``x / y``.")
floordiv = _binary(ops.floor_div, "Return ``floor(x / y)``.")
pow = _binary(ops.pow, "Return ``x ** y``.")
maximum = _binary(ops.maximum, "Return the larger of x and y.")
minimum = _binary(ops.minimum, "Return the smaller of x and y.")
atan2 = _binary(ops.atan2, "Return the angle of (y, x).")
squared_difference = _binary(lambda x, y: ops.square(ops.sub(x, y)), "Return ``(x - y) ** 2``.")


def _compared(name: str, doc: str) -> Function:
    # OneFlow's comparisons give int8.
    return _binary(lambda x, y: ops.cast(getattr(ops, name)(x, y), "int8"), doc)


equal = _compared("equal", "Return 1 where ``x == y``.")
not_equal = _compared("not_equal", "Return 1 where ``x != y``.")
less = _compared("less", "Return 1 where ``x < y``.")
less_equal = _compared("less_equal", "Return 1 where ``x <= y``.")
greater = _compared("greater", "Return 1 where ``x > y``.")
greater_equal = _compared("greater_equal", "Return 1 where ``x >= y``.")
logical_and = _compared("logical_and", "Return 1 where both hold.")


def add_n(inputs: Sequence[Blob], name: Name = None) -> Blob:
    """Return the sum of blobs of one shape."""
    return ops.add_n([as_value(item) for item in inputs])


# ---- one operand -----------------------------------------------------------------------------------------------------
abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
ceil = _unary("ceil")
cos = _unary("cos")
cosh = _unary("cosh")
erf = _unary("erf")
erfc = _unary("erfc")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
gelu = _unary("gelu")
lgamma = _unary("lgamma")
log = _unary("log")
log1p = _unary("log1p")
log_sigmoid = _unary("log_sigmoid")
negative = _unary("neg")
reciprocal = _unary("reciprocal")
relu = _unary("relu")
rint = _unary("rint")
rsqrt = _unary("rsqrt")
sigmoid = _unary("sigmoid")
sigmoid_v2 = _unary("sigmoid")
sign = _unary("sign")
sin = _unary("sin")
sinh = _unary("sinh")
softplus = _unary("softplus")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
tanh_v2 = _unary("tanh")


def round(x: Blob, name: Name = None) -> Blob:
    """Return the nearest whole number, halves to the even one."""
    return call("round", x)


def sigmoid_grad(y: Blob, dy: Blob, name: Name = None) -> Blob:
    """Return the gradient of sigmoid from its result and the incoming gradient."""
    return call("sigmoid_grad", y, dy)


def gelu_grad(x: Blob, dy: Blob, name: Name = None) -> Blob:
    """Return the gradient of gelu."""
    return call("gelu_grad", x, dy)


def clip_by_value(
    values: Blob, min_value: float | None = None, max_value: float | None = None, name: Name = None
) -> Blob:
    """Return the values, held between two bounds; at a bound the gradient passes.

    Integers are held between the whole parts of the bounds.

    Raises:
        ValueError: neither bound is given.

    Source: OneFlow v0.4.0, flow.clip_by_value.
    """
    given = {"min": min_value, "max": max_value}
    bounds = {side: bound for side, bound in given.items() if bound is not None}
    if not bounds:
        raise ValueError("flow.clip_by_value takes min_value, max_value or both, got neither")
    attrs: dict[str, float] = {f"floating_{side}": float(bound) for side, bound in bounds.items()}
    attrs |= {f"integral_{side}": _whole(bound) for side, bound in bounds.items()}
    suffix = "" if len(bounds) == 2 else f"_{next(iter(bounds))}"
    return call(f"clip_by_scalar{suffix}", values, **attrs)


def _whole(bound: float) -> int:
    """Return the whole part of a bound, the nearest int64 where it lies beyond."""
    limits = np.iinfo(np.int64)
    return int(max(min(bound, limits.max), limits.min))


def l2_normalize(input: Blob, axis: int | None = None, epsilon: float = 1e-12, name: Name = None) -> Blob:
    """Return the blob divided by its norm along an axis."""
    value = as_value(input)
    norm = ops.reduce_sum(ops.square(value), 0 if axis is None else axis, True)
    return ops.mul(value, ops.rsqrt(ops.clip(norm, epsilon, None)))


def tril(x: Blob, diagonal: int = 0, fill_value: float = 0, name: Name = None) -> Blob:
    """Return the lower triangle, and a number above it."""
    return ops.tril(as_value(x), diagonal, fill_value)


def fused_scale_tril(x: Blob, diagonal: int = 0, fill_value: float = 0, scale: float = 1, name: Name = None) -> Blob:
    """Return ``tril(scale * x)``."""
    is_filled_float, is_scaled_float = isinstance(fill_value, float), isinstance(scale, float)
    return call(
        "fused_scale_tril",
        x,
        diagonal=int(diagonal),
        is_floating_fill_value=is_filled_float,
        floating_fill_value=fill_value if is_filled_float else 0.0,
        integer_fill_value=0 if is_filled_float else int(fill_value),
        is_floating_scale_value=is_scaled_float,
        floating_scale_value=scale if is_scaled_float else 1.0,
        integer_scale_value=1 if is_scaled_float else int(scale),
    )


# ---- reductions ------------------------------------------------------------------------------------------------------
def _reduction(builder: Function, doc: str) -> Function:
    def function(input_tensor: Blob, axis: Axis = None, keepdims: bool = False, name: Name = None) -> Blob:
        out = builder(as_value(input_tensor), axis, keepdims)
        return out if shape_of(out) else ops.reshape(out, (1,))

    function.__doc__ = doc
    return function


reduce_sum = _reduction(ops.reduce_sum, "Return the sum over axes.")
reduce_mean = _reduction(ops.reduce_mean, "Return the mean over axes.")
reduce_max = _reduction(ops.amax, "Return the largest over axes.")
reduce_min = _reduction(ops.amin, "Return the smallest over axes.")
reduce_prod = _reduction(ops.reduce_prod, "Return the product over axes.")
reduce_any = _reduction(ops.reduce_any, "Return 1 where any element holds.")
reduce_all = _reduction(ops.reduce_all, "Return 1 where all elements hold.")
reduce_logsumexp = _reduction(ops.logsumexp, "Return ``log(sum(exp(x)))``.")


def _variance(x: Blob, axis: Axis, keepdims: bool) -> Blob:
    return ops.reduce_mean(ops.square(ops.sub(x, ops.reduce_mean(x, axis, True))), axis, keepdims)


reduce_variance = _reduction(_variance, "Return the variance over axes.")
reduce_std = _reduction(lambda x, axis, keep: ops.sqrt(_variance(x, axis, keep)), "Return the standard deviation.")


def argmax(input: Blob, axis: int = -1, name: Name = None) -> Blob:
    """Return the index of the largest element along an axis."""
    return ops.argmax(as_value(input), axis)


__getattr__ = guard("flow.math", globals())
