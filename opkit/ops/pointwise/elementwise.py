"""Functions of one operand, element by element: the math_unary_elementwise list, each with its ``_grad`` op.

The module is long because the functions are one table, row by row with their derivatives. Activations of networks are
in ``activation``; the numerics of special functions in ``opkit.ops.kernels.special``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.basis.arithmetic import add, div, mul, neg, scalar_add, scalar_mul, sub
from opkit.ops.basis.creation import as_value, cast, full_like
from opkit.ops.core.define import NO_ATTRS, define, first_only, named, quiet, slope_kernel
from opkit.ops.core.inference import same_shape, unchanged, unchanged_floats
from opkit.ops.core.meeting import Choose, function_dtype, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Function, Out, Values
from opkit.ops.core.value import Value
from opkit.ops.kernels.blocks import elementwise_blocks
from opkit.ops.kernels.small import ONE, ZERO, Number, own
from opkit.ops.kernels.special import digamma_of, erf_of, erfc_of, lgamma_of, polygamma_of
from opkit.record import record

Unary = Callable[[Any], Any]
#: ``second(x)``: the second derivative as a value, built of ops.
Second = Callable[[Value], Value]


@record
class _Function:
    """An op of one operand, what it computes in words, whether it maps integers to integers, and its attributes."""

    opdef: OpDef
    text: str
    is_closed: bool
    attrs: Attrs


_FUNCTIONS: dict[str, _Function] = {}


def _builder(function: _Function, choose: Choose) -> Unary:
    opdef, is_closed, attrs = function.opdef, function.is_closed, function.attrs

    def build(x: Any) -> Value:
        try:
            kind = x._data.dtype.kind
        except AttributeError:
            x = as_value(x)
            kind = x._data.dtype.kind
        if kind not in "fc":
            x = cast(x, function_dtype(opdef.name, x, choose(x), is_closed=is_closed))
        return local.mode.apply(opdef, (x,), attrs)

    build.__doc__ = f"Return {function.text}, element by element."
    return build


def functions(choose: Choose) -> dict[str, Unary]:
    """Return the builders of functions of one operand, by name."""
    return named({name: _builder(function, choose) for name, function in _FUNCTIONS.items()})


def entered(name: str, opdef: OpDef, text: str, is_closed: bool = False, attrs: Attrs = NO_ATTRS) -> Unary:
    """Add an op under its builder's name, and return the strict builder."""
    function = _FUNCTIONS[name] = _Function(opdef, text, is_closed, attrs)
    build = _builder(function, strictly)
    build.__name__ = build.__qualname__ = name
    return build


def _unary(
    name: str,
    text: str,
    kernel: Function,
    slope: Callable[[ndarray, ndarray], Any] | None = None,
    second: Second | None = None,
    rule: Callable[[Any, Value], Value] | None = None,
    reads: str = "x",
    by_rule: Callable[[ndarray, ndarray], Any] | None = None,
    builder: str = "",
    is_closed: bool = False,
) -> Unary:
    """Define ``name`` and ``name_grad(x, dy)``, and return the builder.

    Args:
        name: op type name.
        text: what it is, for the builder's docstring.
        kernel: a ufunc, or a function with ``out=None``.
        slope: ``slope(x, dy)``: the gradient; left out: zero everywhere.
        second: the second derivative built of ops; left out: zero everywhere.
        rule: a better gradient than the ``_grad`` op (for example one that reads the output).
        reads: what ``rule`` reads.
        by_rule: what ``rule`` computes, on arrays: of x or y, whichever it reads, and dy.
        builder: the builder's name where it is not the op's.
        is_closed: whether it maps integers to integers.
    """
    kernel = quiet(kernel)
    slope = quiet(elementwise_blocks(slope or _flat))

    def grad_rule(applied: Any, douts: Values) -> Values:
        x, dy = applied.inputs
        need_x, need_dy = applied.needs
        dx = mul(mul(douts[0], dy), second(x)) if need_x and second is not None else None
        return dx, apply_grad(x, douts[0]) if need_dy else None

    grad_op = define(
        f"{name}_grad",
        "x dy",
        "dx",
        slope,
        infer=same_shape(f"{name}_grad", floating=not is_closed),
        grad=grad_rule,
        reads="x dy" if second is not None else "x",
        out=slope,
        elementwise=True,
    )

    def apply_grad(x: Value, dy: Value) -> Value:
        return local.mode.apply(grad_op, (x, dy), NO_ATTRS)

    opdef = define(
        name,
        "x",
        "y",
        kernel,
        infer=unchanged if is_closed else unchanged_floats(name),
        grad=first_only(rule or (lambda applied, dout: apply_grad(applied.inputs[0], dout))),
        grad_kernel=slope_kernel(by_rule or slope, from_output=reads == "y"),
        reads=reads,
        out=kernel,
        elementwise=True,
    )
    return entered(builder or name, opdef, text, is_closed)


def _flat(x: ndarray, dy: ndarray) -> ndarray:
    return np.zeros(x.shape, x.dtype)


# ---- derivatives that read the output --------------------------------------------------------------------------------
def _from_output(name: str, slope: Function, slope_by_y: Second) -> Callable[[Any, Value], Value]:
    """Return a rule whose op computes the gradient from the output; ``slope_by_y`` is the slope's derivative by y."""

    def grad_rule(applied: Any, douts: Values) -> Values:
        y, dy = applied.inputs
        need_y, need_dy = applied.needs
        by_y = mul(mul(douts[0], dy), slope_by_y(y)) if need_y else None
        return by_y, perform(grad_op, y, douts[0]) if need_dy else None

    kernel = quiet(slope)
    grad_op = define(
        name,
        "y dy",
        "dx",
        kernel,
        infer=same_shape(name, floating=True),
        grad=grad_rule,
        reads="y dy",
        out=kernel,
        elementwise=True,
    )
    return lambda applied, dout: perform(grad_op, applied.outputs[0], dout)


@elementwise_blocks
def _tanh_slope(y: ndarray, dy: ndarray) -> Any:
    return (ONE[y.dtype] - y * y) * dy


@elementwise_blocks
def _sigmoid_slope(y: ndarray, dy: ndarray) -> Any:
    return (ONE[y.dtype] - y) * y * dy


@elementwise_blocks
def _sqrt_slope(y: ndarray, dy: ndarray) -> Any:
    return dy / y * 0.5


tanh_from_y = _from_output("tanh_grad_from_y", _tanh_slope, lambda y: scalar_mul(y, -2.0))
sigmoid_from_y = _from_output("sigmoid_grad", _sigmoid_slope, lambda y: scalar_add(scalar_mul(y, -2.0), 1.0))
sqrt_from_y = _from_output("sqrt_grad_from_y", _sqrt_slope, lambda y: scalar_mul(reciprocal(square(y)), -0.5))


#: The slope of erf at 0.
_PEAK = Number(2 / math.sqrt(math.pi))


# ---- kernels that numpy lacks ----------------------------------------------------------------------------------------
def logistic(x: ndarray) -> Any:
    """Return the logistic function of one block; exp may overflow to infinity, whose reciprocal is the right 0."""
    found = own(np.negative(x))
    return np.reciprocal(np.add(np.exp(found, found), ONE[x.dtype], found), found)


#: The logistic function.
sigmoid_of = elementwise_blocks(logistic)


def softplus_of(x: ndarray, out: Out = None) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(x, ZERO[x.dtype], out=out)


@elementwise_blocks
def _log_sigmoid_of(x: ndarray) -> Any:
    return -softplus_of(-x)


@elementwise_blocks
def _rsqrt_of(x: ndarray) -> Any:
    return np.reciprocal(np.sqrt(x))


def _reciprocal_no_nan_of(x: ndarray, out: Out = None) -> Any:
    out = np.empty_like(x) if out is None else out
    out.fill(0)
    return np.reciprocal(x, out=out, where=x != 0)


_BELOW_HALF = {np.dtype(kind): np.nextafter(np.array(0.5, kind), np.array(0, kind)) for kind in ("e", "f", "d")}


def _round_away(x: ndarray, out: Out = None) -> Any:
    # The number before 0.5: 0.5 itself would round 0.49999999999999994 up.
    return np.trunc(np.add(x, np.copysign(_BELOW_HALF[x.dtype], x), out=out), out=out)


def _whole(kernel: Function) -> Function:
    """Return a rounding kernel that leaves integers as they are."""

    def rounded(x: ndarray, out: Out = None) -> Any:
        return kernel(x, out=out) if x.dtype.kind in "fc" else np.positive(x, out=out)

    return rounded


# ---- powers and exponentials -----------------------------------------------------------------------------------------
# fmt: off
exp: Unary = _unary("exp", "e to the power of x", np.exp, lambda x, dy: dy * np.exp(x), lambda x: exp(x),
             rule=lambda applied, dout: mul(dout, applied.outputs[0]), reads="y", by_rule=lambda y, dy: dy * y)
expm1: Unary = _unary("expm1", "exp(x) - 1, exact near 0", np.expm1, lambda x, dy: dy * np.exp(x), lambda x: exp(x))
log: Unary = _unary("log", "the natural logarithm", np.log, lambda x, dy: dy / x, lambda x: neg(reciprocal(square(x))),
             rule=lambda applied, dout: div(dout, applied.inputs[0]), by_rule=lambda x, dy: dy / x)
log2: Unary = _unary("log2", "the logarithm to base 2", np.log2, lambda x, dy: dy / (x * math.log(2)),
              lambda x: scalar_mul(reciprocal(square(x)), -1 / math.log(2)))
log10: Unary = _unary("log10", "the logarithm to base 10", np.log10, lambda x, dy: dy / (x * math.log(10)),
               lambda x: scalar_mul(reciprocal(square(x)), -1 / math.log(10)))
log1p: Unary = _unary("log1p", "log(1 + x), exact near 0", np.log1p, lambda x, dy: dy / (1 + x),
               lambda x: neg(reciprocal(square(scalar_add(x, 1.0)))))
sqrt: Unary = _unary("sqrt", "the square root", np.sqrt, lambda x, dy: dy / (2 * np.sqrt(x)),
              lambda x: scalar_mul(div(rsqrt(x), x), -0.25), rule=sqrt_from_y, reads="y", by_rule=_sqrt_slope)
rsqrt: Unary = _unary("rsqrt", "1 / sqrt(x)", _rsqrt_of, lambda x, dy: dy * -0.5 / (x * np.sqrt(x)),
               lambda x: scalar_mul(div(rsqrt(x), square(x)), 0.75))
square: Unary = _unary("square", "x * x", np.square, lambda x, dy: 2 * x * dy, lambda x: full_like(x, 2.0),
                       is_closed=True)
reciprocal: Unary = _unary("reciprocal", "1 / x", np.reciprocal, lambda x, dy: -dy / (x * x),
                    lambda x: scalar_mul(reciprocal(mul(square(x), x)), 2.0))
reciprocal_no_nan: Unary = _unary("reciprocal_no_nan", "1 / x, and 0 where x is 0", _reciprocal_no_nan_of,
                           lambda x, dy: -dy * np.square(_reciprocal_no_nan_of(x)),
                           lambda x: scalar_mul(mul(square(reciprocal_no_nan(x)), reciprocal_no_nan(x)), 2.0))

# ---- trigonometric and hyperbolic ------------------------------------------------------------------------------------
sin: Unary = _unary("sin", "the sine", np.sin, lambda x, dy: dy * np.cos(x), lambda x: neg(sin(x)))
cos: Unary = _unary("cos", "the cosine", np.cos, lambda x, dy: -dy * np.sin(x), lambda x: neg(cos(x)))
tan: Unary = _unary("tan", "the tangent", np.tan, lambda x, dy: dy * (1 + np.square(np.tan(x))),
             lambda x: scalar_mul(mul(tan(x), scalar_add(square(tan(x)), 1.0)), 2.0))
asin: Unary = _unary("asin", "the arc sine", np.arcsin, lambda x, dy: dy / np.sqrt(1 - x * x),
              lambda x: mul(x, _power32(scalar_add(neg(square(x)), 1.0))))
acos: Unary = _unary("acos", "the arc cosine", np.arccos, lambda x, dy: -dy / np.sqrt(1 - x * x),
              lambda x: neg(mul(x, _power32(scalar_add(neg(square(x)), 1.0)))))
atan: Unary = _unary("atan", "the arc tangent", np.arctan, lambda x, dy: dy / (1 + x * x),
              lambda x: scalar_mul(div(x, square(scalar_add(square(x), 1.0))), -2.0))
sinh: Unary = _unary("sinh", "the hyperbolic sine", np.sinh, lambda x, dy: dy * np.cosh(x), lambda x: sinh(x))
cosh: Unary = _unary("cosh", "the hyperbolic cosine", np.cosh, lambda x, dy: dy * np.sinh(x), lambda x: cosh(x))
tanh: Unary = _unary("tanh", "the hyperbolic tangent", np.tanh, lambda x, dy: _tanh_slope(np.tanh(x), dy),
              lambda x: scalar_mul(mul(tanh(x), scalar_add(neg(square(tanh(x))), 1.0)), -2.0),
              rule=tanh_from_y, reads="y", by_rule=_tanh_slope)
asinh: Unary = _unary("asinh", "the inverse hyperbolic sine", np.arcsinh, lambda x, dy: dy / np.sqrt(1 + x * x),
               lambda x: neg(mul(x, _power32(scalar_add(square(x), 1.0)))))
acosh: Unary = _unary("acosh", "the inverse hyperbolic cosine", np.arccosh, lambda x, dy: dy / np.sqrt(x * x - 1),
               lambda x: neg(mul(x, _power32(scalar_add(square(x), -1.0)))))
atanh: Unary = _unary("atanh", "the inverse hyperbolic tangent", np.arctanh, lambda x, dy: dy / (1 - x * x),
               lambda x: scalar_mul(div(x, square(scalar_add(neg(square(x)), 1.0))), 2.0))

# ---- sigmoids and special functions ----------------------------------------------------------------------------------
sigmoid_v2: Unary = _unary("sigmoid_v2", "the logistic function", sigmoid_of,
                    lambda x, dy: _sigmoid_slope(logistic(x), dy), lambda x: _sigmoid_second(x),
                    rule=sigmoid_from_y, reads="y", by_rule=_sigmoid_slope)
softplus: Unary = _unary("softplus", "log(1 + exp(x))", softplus_of, lambda x, dy: dy * logistic(x),
                  lambda x: mul(sigmoid(x), sigmoid(neg(x))))
log_sigmoid: Unary = _unary("log_sigmoid", "log(sigmoid(x))", _log_sigmoid_of, lambda x, dy: dy * logistic(-x),
                     lambda x: neg(mul(sigmoid(x), sigmoid(neg(x)))))
erf: Unary = _unary("erf", "the error function", erf_of, lambda x, dy: dy * np.exp(-x * x) * _PEAK[x.dtype],
             lambda x: scalar_mul(mul(x, exp(neg(square(x)))), -4 / math.sqrt(math.pi)))
erfc: Unary = _unary("erfc", "1 - erf(x)", erfc_of, lambda x, dy: dy * np.exp(-x * x) * (-2 / math.sqrt(math.pi)),
              lambda x: scalar_mul(mul(x, exp(neg(square(x)))), 4 / math.sqrt(math.pi)))
lgamma: Unary = _unary("lgamma", "the logarithm of the absolute gamma function", lgamma_of,
                lambda x, dy: dy * digamma_of(x), lambda x: polygamma(x, 1))
digamma: Unary = _unary("digamma", "the derivative of lgamma", digamma_of,
                 lambda x, dy: dy * polygamma_of(x, n=1), lambda x: polygamma(x, 2))

# ---- piecewise constant or linear ------------------------------------------------------------------------------------
abs: Unary = _unary("abs", "the absolute value", np.abs, lambda x, dy: dy * np.sign(x), is_closed=True)
sign: Unary = _unary("sign", "-1, 0 or 1", np.sign, is_closed=True)
floor: Unary = _unary("floor", "the largest integer not above x", _whole(np.floor), is_closed=True)
ceil: Unary = _unary("ceil", "the smallest integer not below x", _whole(np.ceil), is_closed=True)
trunc: Unary = _unary("trunc", "x without its fractional part", _whole(np.trunc), is_closed=True)
rint: Unary = _unary("rint", "the nearest integer, halves to even", _whole(np.rint), is_closed=True)
round_half_even: Unary = _unary("round", "the nearest integer, halves to even", _whole(np.rint),
                                builder="round_half_even", is_closed=True)
round: Unary = _unary("round_half_away", "the nearest integer, halves away from 0", _whole(_round_away),
                      builder="round", is_closed=True)
# fmt: on


def _power32(x: Value) -> Value:
    return div(rsqrt(x), x)


def _sigmoid_second(x: Value) -> Value:
    y = sigmoid(x)
    return mul(mul(y, sigmoid(neg(x))), sub(1.0, add(y, y)))


# ---- sigmoid (an op of its own, whose argument is "in") --------------------------------------------------------------
SIGMOID = define(
    "sigmoid",
    "in",
    "out",
    quiet(sigmoid_of),
    infer=unchanged_floats("sigmoid"),
    grad=first_only(sigmoid_from_y),
    grad_kernel=slope_kernel(_sigmoid_slope, from_output=True),
    reads="out",
    out=quiet(sigmoid_of),
    elementwise=True,
)
sigmoid: Unary = entered("sigmoid", SIGMOID, "the logistic function")


# ---- polygamma: differentiates into the next order -------------------------------------------------------------------
POLYGAMMA = define(
    "polygamma",
    "x",
    "y",
    quiet(polygamma_of),
    infer=unchanged_floats("polygamma"),
    attrs="n:int32",
    grad=first_only(lambda applied, dout: mul(dout, polygamma(applied.inputs[0], applied.attrs["n"] + 1))),
    reads="x",
    elementwise=True,
)


def polygamma(x: Value, n: int) -> Value:
    """Return the n-th derivative of digamma, ``n`` at least 1, for positive x."""
    return local.mode.apply(POLYGAMMA, (x,), {"n": n})
