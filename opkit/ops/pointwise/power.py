"""Powers: a tensor to a tensor, to a number, and related functions of two operands.

atan2, xlogy, xdivy and floordiv are ops on operands of one shape; ``pow`` broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError
from opkit.ops.basis.arithmetic import add, div, met, mul, neg, scalar_add, scalar_mul, sub
from opkit.ops.basis.broadcasting import broadcast_to, fitted, sum_to
from opkit.ops.basis.creation import as_value, cast
from opkit.ops.core.define import NO_ATTRS, define, define_map, named, quiet, slope_kernel
from opkit.ops.core.inference import broadcast_shape, broadcasted, same_shape
from opkit.ops.core.meeting import Choose, is_number, number_dtype, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import Kept, OpDef
from opkit.ops.core.types import Out, Values
from opkit.ops.core.value import Value, desc_of, dtype_of, shape_of
from opkit.ops.kernels.small import ONE, ZERO
from opkit.ops.pointwise.compare import equal, where
from opkit.ops.pointwise.elementwise import log, reciprocal, square


# ---- to a number -----------------------------------------------------------------------------------------------------
@quiet
def _scalar_pow(x: ndarray, exponent: float, out: Out = None) -> Any:
    if exponent == 2:
        return np.square(x, out=out)
    if exponent == 0.5 and x.dtype.kind in "fc":
        return np.sqrt(x, out=out)
    if float(exponent).is_integer() and (exponent >= 0 or x.dtype.kind in "fc"):
        return np.power(x, int(exponent), out=out)
    return np.power(x, exponent, out=out)


@quiet
def _scalar_pow_slope(x: ndarray, dy: ndarray, exponent: float) -> Any:
    if exponent == 0:
        return np.zeros_like(x)
    return dy * exponent * _scalar_pow(x, exponent - 1)


def _scalar_pow_slope_grad(applied: Any, douts: Values) -> Values:
    x, dy = applied.inputs
    n = applied.attrs["exponent"]
    need_x, need_dy = applied.needs
    dx = mul(mul(douts[0], dy), scalar_mul(_to_number(x, n - 2), n * (n - 1))) if need_x and n not in (0, 1) else None
    return dx, perform(SCALAR_POW_GRAD, x, douts[0], **applied.attrs) if need_dy else None


def _to_number(x: Value, exponent: float) -> Value:
    return local.mode.apply(SCALAR_POW, (x,), {"exponent": float(exponent)})


_POW: dict[str, Any] = {"attrs": "exponent:double", "elementwise": True}
SCALAR_POW_GRAD = define(
    "scalar_pow_grad",
    "x dy",
    "dx",
    _scalar_pow_slope,
    infer=same_shape("scalar_pow_grad"),
    grad=_scalar_pow_slope_grad,
    reads="x dy",
    **_POW,
)
SCALAR_POW = define_map(
    "scalar_pow",
    _scalar_pow,
    lambda applied, dout: perform(SCALAR_POW_GRAD, applied.inputs[0], dout, **applied.attrs),
    names=("in", "out"),
    grad_kernel=slope_kernel(_scalar_pow_slope),
    reads="in",
    out=_scalar_pow,
    **_POW,
)


# ---- to a tensor -----------------------------------------------------------------------------------------------------
def _by_base(x: Value, y: Value) -> Value:
    # y * x**(y - 1), and 0 where y is 0, also at x = 0
    return where(equal(y, 0), 0, mul(y, _power(x, scalar_add(y, -1))))


def _by_exponent(x: Value, y: Value, z: Value) -> Value:
    # z * log(x), and 0 where z is 0 with x = 0 and y > 0: the limit there
    safe = where(equal(x, 0), 1, x)
    return mul(z, where(equal(x, 0), where(equal(z, 0), 0, log(x)), log(safe)))


def _pow_grad(applied: Any, douts: Values) -> Values:
    x, y = applied.inputs
    need_x, need_y = applied.needs
    dx = sum_to(mul(douts[0], _by_base(x, y)), x, y) if need_x else None
    dy = sum_to(mul(douts[0], _by_exponent(x, y, applied.outputs[0])), y, x) if need_y else None
    return dx, dy


def _pow_kernel(kept: Kept, dy: ndarray) -> Values:
    x, y, zero = kept.array(0), kept.array(1), ZERO[dy.dtype]
    need_x, need_y = kept.needs
    by_x = by_y = None
    if need_x:
        by_x = fitted(dy * np.where(y == zero, zero, y * np.power(x, y - ONE[y.dtype])), x)
    if need_y:
        at_zero, z = x == zero, kept.result()
        limit = np.where(z == zero, zero, np.log(x))
        by_y = fitted(dy * (z * np.where(at_zero, limit, np.log(np.where(at_zero, ONE[x.dtype], x)))), y)
    return by_x, by_y


BROADCAST_POW = define(
    "broadcast_pow",
    "x y",
    "z",
    quiet(np.power),
    infer=broadcasted("broadcast_pow"),
    grad=_pow_grad,
    grad_kernel=_pow_kernel,
    reads="x y z",
    out=quiet(np.power),
    elementwise=True,
)


def _power(x: Value, y: Value) -> Value:
    return local.mode.apply(BROADCAST_POW, (x, y), NO_ATTRS)


def _powers(choose: Choose) -> Callable[[Any, Any], Any]:
    def pow(x: Any, y: Any) -> Value:
        """Return ``x`` to the power ``y``: a tensor or a number on either side; operands broadcast."""
        if is_number(y):
            x = as_value(x)
            kind = dtype_of(x).kind
            if kind not in "fc" and (y < 0 or isinstance(y, (float, np.floating))):
                x = cast(x, number_dtype("pow", x, float(y), choose(x)))
                if dtype_of(x).kind not in "fc" and y < 0:
                    raise DtypeError(f"op 'pow' got {desc_of(x)} and the exponent {y!r}: cast it to 'float32' first")
            return _to_number(x, float(y))
        return local.mode.apply(BROADCAST_POW, met("broadcast_pow", x, y, choose(x, y)), NO_ATTRS)

    return pow


# ---- the math_binary_elementwise list: operands of one shape ---------------------------------------------------------
#: ``f(x, y)`` on arrays, or on values built of ops; None: zero.
Function = Callable[[Any, Any], Any]


def _partial(name: str, output: str, slope: Function | None, by_x: Function | None, by_y: Function | None) -> OpDef:
    """Define ``<op>_x_grad`` or ``<op>_y_grad``: ``dz * slope(x, y)``, whose own derivatives are built of ops."""

    @quiet
    def kernel(x: ndarray, y: ndarray, dz: ndarray) -> Any:
        return np.zeros_like(x) if slope is None else np.asarray(dz * slope(x, y)).astype(x.dtype, copy=False)

    def rule(applied: Any, douts: Values) -> Values:
        x, y, dz = applied.inputs
        need_x, need_y, need_dz = applied.needs
        both = mul(douts[0], dz) if slope is not None else None
        return (
            mul(both, by_x(x, y)) if need_x and by_x is not None else None,
            mul(both, by_y(x, y)) if need_y and by_y is not None else None,
            perform(opdef, x, y, douts[0]) if need_dz and slope is not None else None,
        )

    grad = None if slope is None else rule
    opdef = define(name, "x y dz", output, kernel, infer=same_shape(name), grad=grad, reads="x y dz", elementwise=True)
    return opdef


def _pairwise(
    name: str,
    kernel: Callable[..., Any],
    slopes: tuple[Function | None, Function | None] = (None, None),
    seconds: tuple[Function | None, Function | None, Function | None] = (None, None, None),
) -> OpDef:
    """Define ``name``, ``name_x_grad`` and ``name_y_grad``.

    Args:
        name: op type name.
        kernel: of two arrays of one shape.
        slopes: the derivatives by x and by y, on arrays.
        seconds: the second derivatives xx, xy, yy, built of ops.
    """
    kernel = quiet(kernel)
    by_x = _partial(f"{name}_x_grad", "dx", slopes[0], seconds[0], seconds[1])
    by_y = _partial(f"{name}_y_grad", "dy", slopes[1], seconds[1], seconds[2])

    def rule(applied: Any, douts: Values) -> Values:
        x, y = applied.inputs
        need_x, need_y = applied.needs
        return (
            perform(by_x, x, y, douts[0]) if need_x and slopes[0] is not None else None,
            perform(by_y, x, y, douts[0]) if need_y and slopes[1] is not None else None,
        )

    grad = None if slopes == (None, None) else rule
    return define(name, "x y", "z", kernel, infer=same_shape(name), grad=grad, reads="x y", elementwise=True)


def _xlogy(x: ndarray, y: ndarray) -> Any:
    return np.where(x == 0, x.dtype.type(0), x * np.log(y))


def _xdivy(x: ndarray, y: ndarray) -> Any:
    return np.where(x == 0, x.dtype.type(0), x / y)


def _radius4(x: Value, y: Value) -> Value:
    return square(add(square(x), square(y)))


POW = _pairwise(
    "pow",
    np.power,
    (lambda x, y: np.where(y == 0, 0, y * np.power(x, y - 1)), lambda x, y: np.power(x, y) * np.log(x)),
    (
        lambda x, y: mul(mul(y, scalar_add(y, -1)), _power(x, scalar_add(y, -2))),
        lambda x, y: mul(_power(x, scalar_add(y, -1)), scalar_add(mul(y, log(x)), 1)),
        lambda x, y: mul(_power(x, y), square(log(x))),
    ),
)
ATAN2 = _pairwise(
    "atan2",
    np.arctan2,
    (lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
    (
        lambda x, y: scalar_mul(div(mul(x, y), _radius4(x, y)), -2.0),
        lambda x, y: div(sub(square(x), square(y)), _radius4(x, y)),
        lambda x, y: scalar_mul(div(mul(x, y), _radius4(x, y)), 2.0),
    ),
)
XLOGY = _pairwise(
    "xlogy",
    _xlogy,
    (lambda x, y: np.where(x == 0, 0, np.log(y)), lambda x, y: _xdivy(x, y)),
    (None, lambda x, y: reciprocal(y), lambda x, y: neg(div(x, square(y)))),
)


def _of_one_shape(opdef: OpDef, choose: Choose, text: str) -> Callable[[Any, Any], Any]:
    def build(x: Any, y: Any) -> Value:
        left, right = met(opdef.name, x, y, choose(x, y))
        shapes = shape_of(left), shape_of(right)
        if shapes[0] != shapes[1]:
            shape = broadcast_shape(opdef.name, [desc_of(left), desc_of(right)])
            left, right = broadcast_to(left, shape), broadcast_to(right, shape)
        return local.mode.apply(opdef, (left, right), NO_ATTRS)

    build.__doc__ = f"Return {text}; operands broadcast."
    return build


def powers(choose: Choose) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the builders of this module by name."""
    return named(
        {
            "pow": _powers(choose),
            "atan2": _of_one_shape(ATAN2, choose, "the angle whose tangent is ``x / y``, in the quadrant of both"),
            "xlogy": _of_one_shape(XLOGY, choose, "``x * log(y)``, and 0 where ``x`` is 0"),
        }
    )


pow, atan2, xlogy = powers(strictly).values()
