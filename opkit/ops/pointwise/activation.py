"""Activations: relu and its family, elu, gelu, silu, the hard variants; each with its gradient op.

sigmoid, tanh and softplus are in ``opkit.ops.pointwise.elementwise``, softmax in ``opkit.ops.reduce.log_space``.
The module is long because each function stands with its slope and the slope's derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.basis.arithmetic import add, div, mul, plus, scalar_add, scalar_mul, sub
from opkit.ops.basis.broadcasting import reduce_sum_like
from opkit.ops.basis.creation import as_value, cast, cast_like
from opkit.ops.core.bound import Bound
from opkit.ops.core.define import NO_ATTRS, define, first_only, named, quiet, slope_kernel
from opkit.ops.core.inference import broadcasted, same_shape, unchanged_floats
from opkit.ops.core.meeting import Choose, function_dtype, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Function, Values
from opkit.ops.core.value import Value
from opkit.ops.kernels.blocks import elementwise_blocks
from opkit.ops.kernels.small import HALF, ONE, ZERO, Number, clipped, put, without
from opkit.ops.kernels.special import erf_of
from opkit.ops.pointwise.compare import greater, less, less_equal, logical_and, logical_or, where
from opkit.ops.pointwise.elementwise import abs as absolute
from opkit.ops.pointwise.elementwise import entered, exp, logistic, sigmoid, softplus, softplus_of, square, tanh

#: ``second(x, attrs)``: the second derivative as a value, built of ops; None: zero almost everywhere.
Second = Callable[[Value, Attrs], Value]


def _activation(
    name: str,
    kernel: Function,
    slope: Function,
    second: Second | None = None,
    *,
    attrs: str = "",
    args: tuple[str, str] = ("in", "out"),
    from_output: bool = False,
) -> OpDef:
    """Define ``name`` and ``name_grad``, whose first input is x, or y where the slope is read off the output."""
    kernel, slope = quiet(elementwise_blocks(kernel)), quiet(elementwise_blocks(slope))
    source = "y" if from_output else "x"

    def grad_rule(applied: Any, douts: Values) -> Values:
        value, dy = applied.inputs
        need_value, need_dy = applied.needs
        by_value = None
        if need_value and second is not None:
            by_value = mul(mul(douts[0], dy), second(value, applied.attrs))
        return by_value, perform(grad_op, value, douts[0], **applied.attrs) if need_dy else None

    grad_op = define(
        f"{name}_grad",
        f"{source} dy",
        "dx",
        slope,
        infer=same_shape(f"{name}_grad", floating=True),
        attrs=attrs,
        grad=grad_rule,
        reads=f"{source} dy" if second is not None else source,
        out=slope,
        elementwise=True,
    )

    def rule(applied: Any, dout: Value) -> Value:
        value = applied.outputs[0] if from_output else applied.inputs[0]
        return perform(grad_op, value, dout, **applied.attrs)

    return define(
        name,
        args[0],
        args[1],
        kernel,
        infer=unchanged_floats(name),
        attrs=attrs,
        grad=first_only(rule),
        grad_kernel=slope_kernel(slope, from_output=from_output),
        reads=args[1] if from_output else args[0],
        out=kernel,
        elementwise=True,
    )


def _unbound(made: Callable[..., Bound]) -> tuple[Function, Function]:
    """Return the kernel and the slope of any attributes."""
    return (lambda x, **attrs: made(**attrs).kernel(x)[0]), (lambda x, dy, **attrs: made(**attrs).slope(x, dy, None))


# ---- relu ------------------------------------------------------------------------------------------------------------
RELU = _activation(
    "relu", lambda x: np.maximum(x, ZERO[x.dtype]), lambda y, dy: np.multiply(dy, y > ZERO[y.dtype]), from_output=True
)


relu = entered("relu", RELU, "max(x, 0), whose gradient at 0 is 0")


# ---- leaky_relu, elu, selu, prelu ------------------------------------------------------------------------------------
@lru_cache(256)
def _leaky(alpha: float) -> Bound:
    numbers, is_between = Number(0, alpha), 0 <= alpha <= 1

    def kernel(x: ndarray) -> Any:
        zero, by = numbers[x.dtype]
        below = x * by
        return np.maximum(x, below) if is_between else np.where(x >= zero, x, below), ()

    def slope(x: ndarray, dy: ndarray, _: Any) -> Any:
        zero, by = numbers[x.dtype]
        return put(x >= zero, dy, dy * by)

    return Bound(kernel, slope, alpha=alpha)


@lru_cache(256)
def _elu(alpha: float, scale: float = 1.0) -> Bound:
    numbers = Number(0, alpha, scale)

    def kernel(x: ndarray) -> Any:
        zero, by, times = numbers[x.dtype]
        low = np.minimum(zero, x)
        y = np.expm1(low)
        if alpha != 1:
            y *= by
        y += np.maximum(zero, x)
        if scale != 1:
            y *= times
        return y, low

    def slope(x: ndarray, dy: ndarray, low: Any) -> Any:
        zero, by, times = numbers[x.dtype]
        if scale != 1:
            dy = dy * times
        below = np.exp(np.minimum(zero, x) if low is None else low)
        below *= dy
        return put(x >= zero, dy, below * by) if alpha != 1 else below

    return Bound(kernel, slope, alpha=alpha)


@lru_cache(256)
def _selu(scale: float, alpha: float) -> Bound:
    scaled = _elu(alpha, scale)
    return Bound(scaled.kernel, scaled.slope, scale=scale, alpha=alpha)


def _where_negative(x: Value, value: Value) -> Value:
    return where(less(x, 0), value, 0)


LEAKY_RELU = _activation("leaky_relu", *_unbound(_leaky), attrs="alpha:float", args=("x", "y"))
ELU = _activation(
    "elu",
    *_unbound(_elu),
    lambda x, attrs: _where_negative(x, scalar_mul(exp(x), float(attrs["alpha"]))),
    attrs="alpha:double",
)


SELU = _activation(
    "selu",
    *_unbound(_selu),
    lambda x, attrs: _where_negative(x, scalar_mul(exp(x), float(attrs["alpha"]) * float(attrs["scale"]))),
    attrs="scale:double alpha:double",
)


@quiet
def _prelu(x: ndarray, alpha: ndarray) -> ndarray:
    return np.where(x > 0, x, x * alpha)


@quiet
def _prelu_slopes(dy: ndarray, x: ndarray, alpha: ndarray) -> tuple[ndarray, ndarray]:
    negative = x <= 0
    by_alpha = np.where(negative, dy * x, dy.dtype.type(0))
    wide = np.broadcast_to(alpha, x.shape)
    lead = x.ndim - alpha.ndim
    axes = (*range(lead), *(i + lead for i, size in enumerate(alpha.shape) if size == 1))
    return np.where(negative, dy * wide, dy), np.add.reduce(by_alpha, axes, keepdims=True).reshape(alpha.shape)


def _prelu_grad(applied: Any, douts: Values) -> Values:
    x, alpha = applied.inputs
    return perform(PRELU_GRAD, douts[0], x, alpha)  # type: ignore[no-any-return]


def _prelu_slopes_grad(applied: Any, douts: Values) -> Values:
    # dx = dy * (1 or alpha), dalpha = sum(dy * x where negative)
    dy, x, alpha = applied.inputs
    negative = cast_like(less_equal(x, 0), dy)
    by_dy = by_x = by_alpha = None
    g_dx, g_dalpha = douts
    if g_dx is not None:
        by_dy = add(mul(g_dx, sub(1.0, negative)), mul(mul(g_dx, negative), alpha))
        by_alpha = reduce_sum_like(mul(mul(g_dx, dy), negative), alpha)
    if g_dalpha is not None:
        through = mul(g_dalpha, negative)
        by_dy = plus(by_dy, mul(through, x))
        by_x = mul(through, dy)
    return by_dy, by_x, by_alpha


PRELU_GRAD = define(
    "prelu_grad",
    "dy x alpha",
    "dx alpha_diff",
    _prelu_slopes,
    infer=lambda descs, attrs: [descs[1], descs[2]],
    grad=_prelu_slopes_grad,
    reads="dy x alpha",
)
PRELU = define("prelu", "x alpha", "y", _prelu, infer=broadcasted("prelu"), grad=_prelu_grad, reads="x alpha")


def prelu(x: Value, alpha: Value) -> Value:
    """Return x where it is positive, else alpha * x, where alpha broadcasts to the shape of x."""
    return local.mode.apply(PRELU, (x, alpha), NO_ATTRS)


# ---- gelu, silu, mish ------------------------------------------------------------------------------------------------
_DENSITY = 1 / math.sqrt(2 * math.pi)
_TO_ERF, _DENSITIES, _LESS_HALF = Number(1 / math.sqrt(2.0)), Number(_DENSITY), Number(-0.5)


def _gelu(x: ndarray) -> Any:
    wide = erf_of(x * _TO_ERF[x.dtype])
    wide += ONE[x.dtype]
    y = wide * x
    y *= HALF[x.dtype]
    return y, wide


def _gelu_slope(x: ndarray, dy: ndarray, wide: Any) -> Any:
    kind = x.dtype
    if wide is None:
        _, wide = _gelu(x)
    return dy * (wide * HALF[kind] + x * np.exp(_LESS_HALF[kind] * x * x) * _DENSITIES[kind])


def gelu_second(x: Value, attrs: Attrs) -> Value:
    """Return (2 - x*x) * density(x), the second derivative."""
    return mul(sub(2.0, square(x)), scalar_mul(exp(scalar_mul(square(x), -0.5)), _DENSITY))


def _silu(x: ndarray) -> Any:
    s = logistic(x)
    return x * s, s


def _silu_slope(x: ndarray, dy: ndarray, s: Any) -> Any:
    if s is None:
        s = logistic(x)
    one = ONE[x.dtype]
    found = one - s
    found *= x
    found += one
    found *= s
    found *= dy
    return found


def _silu_second(x: Value, attrs: Attrs) -> Value:
    s = sigmoid(x)
    slope = mul(s, sub(1.0, s))
    return mul(slope, add(mul(x, sub(1.0, scalar_mul(s, 2.0))), 2.0))


_GELU, _SILU = Bound(_gelu, _gelu_slope), Bound(_silu, _silu_slope)
GELU = _activation("gelu", *_unbound(lambda: _GELU), gelu_second)
SILU = _activation("silu", *_unbound(lambda: _SILU), _silu_second)


def _gelu_by_tanh(x: Value) -> Value:
    inner = scalar_mul(mul(x, add(scalar_mul(square(x), 0.044715), 1.0)), math.sqrt(2 / math.pi))
    return mul(scalar_mul(x, 0.5), add(tanh(inner), 1.0))


silu = entered("silu", SILU, "x * sigmoid(x)", attrs=_SILU)


def _mish(x: ndarray) -> Any:
    t = np.tanh(softplus_of(x))
    return x * t, t


def _mish_slope(x: ndarray, dy: ndarray, t: Any) -> Any:
    if t is None:
        _, t = _mish(x)
    found = ONE[x.dtype] - t * t
    found *= dy * x
    found *= logistic(x)
    found += dy * t
    return found


def _mish_second(x: Value, attrs: Attrs) -> Value:
    t, s = tanh(softplus(x)), sigmoid(x)
    bend = add(scalar_add(mul(x, sub(1.0, s)), 2.0), scalar_mul(mul(mul(x, t), s), -2.0))
    return mul(mul(sub(1.0, square(t)), s), bend)


_MISH = Bound(_mish, _mish_slope)
MISH = _activation("mish", *_unbound(lambda: _MISH), _mish_second)


mish = entered("mish", MISH, "x * tanh(softplus(x))", attrs=_MISH)


# ---- the hard ones ---------------------------------------------------------------------------------------------------
# Source: OneFlow v0.4; the defaults of Paddle 2.6 are the same.
_OF_HARDSIGMOID, _OF_HARDSWISH = Number(1 / 6, 3), Number(1 / 3, 0.5, 3, -3)


def _hardsigmoid(x: ndarray) -> Any:
    return _ramp(1 / 6, 0.5).kernel(x)[0]


def _hardsigmoid_slope(x: ndarray, dy: ndarray) -> Any:
    sixth, three = _OF_HARDSIGMOID[x.dtype]
    return without(~(np.abs(x) < three), dy * sixth)


def _hardswish_slope(x: ndarray, dy: ndarray) -> Any:
    third, half, three, low = _OF_HARDSWISH[x.dtype]
    inner = x * third
    inner += half
    inner *= dy
    return without(x < low, put(x < three, inner, dy.copy()))


def _hardswish_second(x: Value, attrs: Attrs) -> Value:
    inside = logical_and(greater(x, -3.0), less(x, 3.0))
    return scalar_mul(cast_like(inside, x), 1 / 3)


@lru_cache(256)
def _hardtanh(min_val: float, max_val: float) -> Bound:
    numbers = Number(min_val, max_val)

    def slope(y: ndarray, dy: ndarray, _: Any) -> Any:
        low, high = numbers[y.dtype]
        return put((y > low) & (y < high), dy, np.zeros(dy.shape, y.dtype))

    return Bound(lambda x: (clipped(x, *numbers[x.dtype]), ()), slope, min_val=min_val, max_val=max_val)


@lru_cache(256)
def _ramp(slope: float, offset: float) -> Bound:
    numbers = Number(slope, offset, 0, 1)

    def kernel(x: ndarray) -> Any:
        by, shift, zero, one = numbers[x.dtype]
        y = x * by
        y += shift
        return clipped(y, zero, one), ()

    # From 0 to 1 a square is smaller than its root inside alone.
    return Bound(kernel, lambda y, dy, _: without(~(y * y < y), dy * numbers[y.dtype][0]), slope=slope, offset=offset)


HARDSIGMOID = _activation("hardsigmoid", _hardsigmoid, _hardsigmoid_slope)
HARDSWISH = _activation("hardswish", lambda x: x * _hardsigmoid(x), _hardswish_slope, _hardswish_second)
RAMP = _activation("ramp", *_unbound(_ramp), attrs="slope:double offset:double", from_output=True)
HARDTANH = _activation("hardtanh", *_unbound(_hardtanh), attrs="min_val:double max_val:double", from_output=True)


hardsigmoid = entered("hardsigmoid", HARDSIGMOID, "clip(x / 6 + 1/2, 0, 1), whose gradient at the corners is 0")


hardswish = entered("hardswish", HARDSWISH, "x * hardsigmoid(x)")


def parametric(choose: Choose) -> dict[str, Function]:
    """Return the builders of activations with attributes, by name."""

    def real(name: str, x: Any) -> Any:
        x = x if hasattr(x, "_data") else as_value(x)
        return x if x._data.dtype.kind in "fc" else cast(x, function_dtype(name, x, choose(x)))

    def elu(x: Value, alpha: float = 1.0) -> Value:
        """Return x where it is positive, else alpha * (exp(x) - 1)."""
        return local.mode.apply(ELU, (real("elu", x),), _elu(float(alpha)))

    def gelu(x: Value, approximate: bool = False) -> Value:
        """Return x * Phi(x), with the normal distribution's Phi; approximate: by a tanh (Hendrycks and Gimpel 2016)."""
        x = real("gelu", x)
        return _gelu_by_tanh(x) if approximate else local.mode.apply(GELU, (x,), _GELU)

    def hardtanh(x: Value, min: float = -1.0, max: float = 1.0) -> Value:
        """Return x clipped to [min, max]; the gradient at the corners is 0."""
        return local.mode.apply(HARDTANH, (real("hardtanh", x),), _hardtanh(float(min), float(max)))

    def leaky_relu(x: Value, alpha: float = 0.01) -> Value:
        """Return x where it is positive, else alpha * x; the slope at 0 is 1."""
        return local.mode.apply(LEAKY_RELU, (real("leaky_relu", x),), _leaky(float(alpha)))

    def ramp(x: Value, slope: float, offset: float) -> Value:
        """Return slope * x + offset clipped to [0, 1]; the gradient at the corners is 0."""
        return local.mode.apply(RAMP, (real("ramp", x),), _ramp(float(slope), float(offset)))

    def relu6(x: Value) -> Value:
        """Return x clipped to [0, 6]."""
        return local.mode.apply(HARDTANH, (real("relu6", x),), _TO_SIX)

    def selu(x: Value, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Value:
        """Return scale * elu(x, alpha)."""
        return local.mode.apply(SELU, (real("selu", x),), _selu(float(scale), float(alpha)))

    return named({build.__name__: build for build in (elu, gelu, hardtanh, leaky_relu, ramp, relu6, selu)})


_TO_SIX = _hardtanh(0.0, 6.0)
elu, gelu, hardtanh, leaky_relu, ramp, relu6, selu = parametric(strictly).values()


# ---- shrinking: built of ops -----------------------------------------------------------------------------------------
def hardshrink(x: Value, threshold: float = 0.5) -> Value:
    """Return x where |x| is above the threshold, else 0."""
    return where(logical_or(greater(x, threshold), less(x, -threshold)), x, 0.0)


def softshrink(x: Value, threshold: float = 0.5) -> Value:
    """Return x moved towards 0 by the threshold, 0 where |x| is not above it."""
    low = where(less(x, -threshold), scalar_add(x, threshold), 0.0)
    return where(greater(x, threshold), scalar_add(x, -threshold), low)


def tanhshrink(x: Value) -> Value:
    """Return x - tanh(x)."""
    return sub(x, tanh(x))


def softsign(x: Value) -> Value:
    """Return x / (1 + |x|)."""
    return div(x, scalar_add(absolute(x), 1.0))


def thresholded_relu(x: Value, threshold: float = 1.0) -> Value:
    """Return x where it is above the threshold, else 0."""
    return where(greater(x, threshold), x, 0.0)
