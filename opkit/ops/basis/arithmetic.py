"""Two operands at a time: arithmetic with broadcasting, and a tensor with a number.

Without a dialect the builders are strict: tensors have one dtype, and results keep it.

What does not broadcast is in ``opkit.ops.basis.unbroadcast``, powers in ``opkit.ops.pointwise.power``, comparisons in
``opkit.ops.pointwise.compare``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, UsageError
from opkit.ir import Dialect
from opkit.ops.basis.broadcasting import fitted, sum_to
from opkit.ops.basis.creation import as_value, cast, constant
from opkit.ops.core.define import NO_ATTRS, define, first_only, named, quiet
from opkit.ops.core.inference import broadcasted, unchanged
from opkit.ops.core.meeting import Choose, common_dtype, is_number, number_dtype, strictly
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import GradKernel, GradRule, Kept, Kernel, OpDef
from opkit.ops.core.quiet import bare_kernel
from opkit.ops.core.types import Function, Out, Values
from opkit.ops.core.value import Value, dtype_of, is_value

Builder = Function


class IntegerDivisionError(UsageError, ZeroDivisionError):
    """Integers were divided by 0."""


# ---- operands brought together ---------------------------------------------------------------------------------------
def met(op: str, x: Any, y: Any, dialect: Dialect) -> tuple[Value, Value]:
    """Return two operands, either of them a number, as values of one dtype.

    Raises:
        DtypeError: the dialect has no dtype in which they meet.
    """
    if is_number(x) and is_value(y):
        dtype = number_dtype(op, y, x, dialect)
        return constant(x, (), dtype), cast(y, dtype)
    if is_number(y) and is_value(x):
        dtype = number_dtype(op, x, y, dialect)
        return cast(x, dtype), constant(y, (), dtype)
    x, y = as_value(x), as_value(y)
    dtype = common_dtype(op, x, y, dialect)
    return cast(x, dtype), cast(y, dtype)


# ---- add, sub, mul, div with broadcasting ----------------------------------------------------------------------------
_add, _sub, _mul = quiet(np.add), quiet(np.subtract), quiet(np.multiply)


def _whole_quotient(x: ndarray, y: Any, out: Out = None) -> Any:
    """Divide integers, truncated towards 0."""
    if x.dtype.kind == "b":
        raise DtypeError("op 'broadcast_div' got bool: cast it to a number first")
    if not np.all(y):
        raise IntegerDivisionError(f"op 'broadcast_div': a divisor of {x.dtype} tensors is 0")
    # The floor, and one more where signs differ and a rest is left.
    floor = np.floor_divide(x, y)
    return np.add(floor, (x % y != 0) & ((x < 0) != (np.asarray(y) < 0)), out=out, dtype=x.dtype)


@quiet
def quotient_of(x: ndarray, y: ndarray, out: Out = None) -> Any:
    """Divide arrays; integers are truncated towards 0."""
    return _true_divide(x, y, out) if x.dtype.kind in "fc" else _whole_quotient(x, y, out)


_true_divide: Function = np.true_divide


def _add_grad(applied: Any, douts: Values) -> Values:
    dout = douts[0]
    x, y = applied.inputs
    need_x, need_y = applied.needs
    return sum_to(dout, x, y) if need_x else None, sum_to(dout, y, x) if need_y else None


def _sub_grad(applied: Any, douts: Values) -> Values:
    dout = douts[0]
    x, y = applied.inputs
    need_x, need_y = applied.needs
    return sum_to(dout, x, y) if need_x else None, sum_to(neg(dout), y, x) if need_y else None


def _mul_grad(applied: Any, douts: Values) -> Values:
    dout = douts[0]
    x, y = applied.inputs
    need_x, need_y = applied.needs
    return sum_to(mul(dout, y), x, y) if need_x else None, sum_to(mul(dout, x), y, x) if need_y else None


def _add_kernel(kept: Kept, dy: ndarray) -> Values:
    x, y = kept.array(0), kept.array(1)
    if x.shape == y.shape:
        return dy, dy
    need_x, need_y = kept.needs
    return fitted(dy, x) if need_x else None, fitted(dy, y) if need_y else None


def _sub_kernel(kept: Kept, dy: ndarray) -> Values:
    x, y = kept.array(0), kept.array(1)
    need_x, need_y = kept.needs
    if x.shape == y.shape:
        return dy, -dy if need_y else None
    return fitted(dy, x) if need_x else None, fitted(-dy, y) if need_y else None


def _mul_kernel(kept: Kept, dy: ndarray) -> Values:
    x, y = kept.array(0), kept.array(1)
    need_x, need_y = kept.needs
    return fitted(dy * y, x) if need_x else None, fitted(dy * x, y) if need_y else None


def _div_kernel(kept: Kept, dy: ndarray) -> Values:
    x, y = kept.array(0), kept.array(1)
    need_x, need_y = kept.needs
    dx = quotient_of.bare(dy, y)  # type: ignore[attr-defined]
    return fitted(dx, x) if need_x else None, fitted(-(dx * kept.result()), y) if need_y else None


def _div_grad(applied: Any, douts: Values) -> Values:
    dout = douts[0]
    x, y = applied.inputs
    need_x, need_y = applied.needs
    dx = div(dout, y) if need_x or need_y else None
    dy = None
    if need_y:
        dy = sum_to(neg(mul(dx, applied.outputs[0])), y, x)
    return sum_to(dx, x, y) if need_x else None, dy


def _binary(
    name: str, kernel: Kernel, grad: GradRule | None, reads: str = "", grad_kernel: GradKernel | None = None
) -> OpDef:
    rules: dict[str, Any] = {"grad": grad, "grad_kernel": grad_kernel, "reads": reads}
    return define(name, "x y", "z", kernel, infer=broadcasted(name), out=kernel, elementwise=True, **rules)


BROADCAST_ADD = _binary("broadcast_add", _add, _add_grad, "", _add_kernel)
BROADCAST_SUB = _binary("broadcast_sub", _sub, _sub_grad, "", _sub_kernel)
BROADCAST_MUL = _binary("broadcast_mul", _mul, _mul_grad, "x y", _mul_kernel)
BROADCAST_DIV = _binary("broadcast_div", quotient_of, _div_grad, "y z", _div_kernel)


def _swapping(opdef: OpDef, by_number: Builder, choose: Choose, text: str) -> Builder:
    """Return the builder of a sum or product: a number on either side is the op with a number."""

    def build(x: Any, y: Any) -> Value:
        if is_number(y):
            return by_number(x, y)
        try:
            if x._data.dtype is y._data.dtype:
                return local.mode.apply(opdef, (x, y), NO_ATTRS)
        except AttributeError:
            if is_number(x):
                return by_number(y, x)
        return local.mode.apply(opdef, met(opdef.name, x, y, choose(x, y)), NO_ATTRS)

    build.__doc__ = f"Return ``{text}``; operands broadcast, a number takes the tensor's dtype."
    return build


def _difference(by_number: Builder, choose: Choose) -> Builder:
    def sub(x: Any, y: Any) -> Value:
        """Return ``x - y``; operands broadcast, a number takes the tensor's dtype."""
        if is_number(y):
            return by_number(x, -y)
        try:
            if x._data.dtype is y._data.dtype:
                return local.mode.apply(BROADCAST_SUB, (x, y), NO_ATTRS)
        except AttributeError:
            if is_number(x):
                return by_number(neg(y), x)
        return local.mode.apply(BROADCAST_SUB, met("broadcast_sub", x, y, choose(x, y)), NO_ATTRS)

    return sub


def _quotient(by_number: Builder, choose: Choose) -> Builder:
    def div(x: Any, y: Any) -> Value:
        """Return ``x / y``; operands broadcast, a number takes the tensor's dtype; integers are truncated towards 0."""
        kind = type(y)
        if kind is float or kind is int:
            return by_number(x, y)
        try:
            dtype = x._data.dtype
            if dtype is y._data.dtype and dtype.kind == "f":
                return local.mode.apply(BROADCAST_DIV, (x, y), NO_ATTRS)
        except AttributeError:
            if is_number(y):
                return by_number(x, y)
        dialect = choose(x, y)
        left, right = met("broadcast_div", x, y, dialect)
        if dialect.quotient is not None and dtype_of(left).kind not in "fc":
            left, right = cast(left, dialect.quotient), cast(right, dialect.quotient)
        return local.mode.apply(BROADCAST_DIV, (left, right), NO_ATTRS)

    return div


def paired(opdef: OpDef, choose: Choose, text: str) -> Builder:
    """Return the builder of an op with two operands of one dtype."""

    def build(x: Any, y: Any) -> Value:
        return local.mode.apply(opdef, met(opdef.name, x, y, choose(x, y)), NO_ATTRS)

    build.__doc__ = f"Return {text}; operands broadcast, a number takes the tensor's dtype."
    return build


# ---- a number and a tensor -------------------------------------------------------------------------------------------
_SCALAR_ATTRS = "has_int_operand:bool has_float_operand:bool int_operand:int64 float_operand:double"


def _scalar_kernel(ufunc: Function, of_integers: Function) -> Function:
    @quiet
    def kernel(
        x: ndarray,
        has_int_operand: bool,
        has_float_operand: bool,
        int_operand: int,
        float_operand: float,
        out: Out = None,
    ) -> Any:
        operand: float = int_operand if has_int_operand else float_operand
        if x.dtype.kind not in "fc":  # an integer tensor stays one: the operand is converted to its dtype
            return of_integers(x, int(operand), out=out)
        return ufunc(x, operand, out=out)

    return kernel


def _scalar_again(name: str) -> Callable[[Any, Value], Value]:
    return lambda applied, dout: perform(_SCALAR_OPS[name], dout, **applied.attrs)


def _scalar(
    name: str, ufunc: Function, rule: Callable[[Any, Value], Any], of_integers: Function | None = None
) -> OpDef:
    kernel = _scalar_kernel(ufunc, of_integers or ufunc)
    again = bare_kernel(kernel)
    return define(
        name,
        "in",
        "out",
        kernel,
        infer=unchanged,
        attrs=_SCALAR_ATTRS,
        grad=first_only(rule),
        grad_kernel=lambda kept, dy: (dy if ufunc is np.add else again(dy, **kept.attrs),),  # type: ignore[misc]
        out=kernel,
        elementwise=True,
    )


_SCALAR_OPS = {
    "scalar_add": _scalar("scalar_add", np.add, lambda applied, dout: dout),
    "scalar_mul": _scalar("scalar_mul", np.multiply, _scalar_again("scalar_mul")),
    "scalar_div": _scalar("scalar_div", np.true_divide, _scalar_again("scalar_div"), _whole_quotient),
}
SCALAR_ADD, SCALAR_MUL, SCALAR_DIV = _SCALAR_OPS.values()


def _by_number(opdef: OpDef, choose: Choose, text: str) -> Builder:
    """Return the builder of the sum or product of a tensor and a number."""

    def build(x: Any, operand: Any) -> Value:
        is_floating = isinstance(operand, (float, np.floating))
        try:
            kind = x._data.dtype.kind
        except AttributeError:
            x = as_value(x)
            kind = x._data.dtype.kind
        if kind not in "fc" and (is_floating or kind == "b"):
            x = cast(x, number_dtype(opdef.name, x, operand, choose(x), is_added=True))
        if is_floating:
            attrs = {
                "has_int_operand": False,
                "has_float_operand": True,
                "int_operand": 0,
                "float_operand": float(operand),
            }
        else:
            attrs = {
                "has_int_operand": True,
                "has_float_operand": False,
                "int_operand": int(operand),
                "float_operand": 0.0,
            }
        return local.mode.apply(opdef, (x,), attrs)

    build.__doc__ = f"Return ``{text}`` in the dtype of ``x``."
    return build


def _divided_by_number(choose: Choose) -> Builder:
    by_number = _by_number(SCALAR_DIV, choose, "x / operand")

    def scalar_div(x: Any, operand: Any) -> Value:
        """Return ``x / operand`` in the dtype of ``x``; integers are truncated towards 0."""
        try:
            kind = x._data.dtype.kind
        except AttributeError:
            x = as_value(x)
            kind = x._data.dtype.kind
        if kind in "fc":
            return by_number(x, float(operand))
        dialect = choose(x)
        if dialect.quotient is not None:
            return by_number(cast(x, dialect.quotient), float(operand))
        if int(operand) == 0:
            raise IntegerDivisionError(f"op 'scalar_div': a {dtype_of(x)} tensor cannot be divided by {operand!r}")
        return by_number(x, operand)

    return scalar_div


# ---- negative, and what has no gradient ------------------------------------------------------------------------------
NEGATIVE = define(
    "negative",
    "x",
    "y",
    np.negative,
    infer=unchanged,
    grad=first_only(lambda applied, dout: neg(dout)),
    grad_kernel=lambda kept, dy: (-dy,),
    out=np.negative,
    elementwise=True,
)
FLOOR_DIV = _binary("floor_divide", quiet(np.floor_divide), None)
FLOOR_MOD = _binary("broadcast_floor_mod", quiet(np.remainder), lambda applied, douts: _mod_grad(applied, douts), "x y")


def _mod_grad(applied: Any, douts: Values) -> Values:
    # z = x - floor(x / y) * y
    x, y = applied.inputs
    need_x, need_y = applied.needs
    dy = None
    if need_y:
        dy = sum_to(neg(mul(douts[0], perform(FLOOR_DIV, x, y))), y, x)
    return sum_to(douts[0], x, y) if need_x else None, dy


def neg(x: Value) -> Value:
    """Return ``-x``."""
    if dtype_of(x).kind == "b":
        raise DtypeError("op 'negative' got bool: cast it to a number first")
    return local.mode.apply(NEGATIVE, (x,), NO_ATTRS)


# ---- the builders ----------------------------------------------------------------------------------------------------
def arithmetic(choose: Choose) -> dict[str, Builder]:
    """Return the builders of this module that depend on a dialect, by name."""
    scalar_add = _by_number(SCALAR_ADD, choose, "x + operand")
    scalar_mul = _by_number(SCALAR_MUL, choose, "x * operand")
    scalar_div = _divided_by_number(choose)
    return named(
        {
            "scalar_add": scalar_add,
            "scalar_mul": scalar_mul,
            "scalar_div": scalar_div,
            "add": _swapping(BROADCAST_ADD, scalar_add, choose, "x + y"),
            "sub": _difference(scalar_add, choose),
            "mul": _swapping(BROADCAST_MUL, scalar_mul, choose, "x * y"),
            "div": _quotient(scalar_div, choose),
            "floor_div": paired(FLOOR_DIV, choose, "the quotient rounded down; it has no gradient"),
            "floor_mod": paired(FLOOR_MOD, choose, "the remainder with the sign of ``y``"),
        }
    )


scalar_add, scalar_mul, scalar_div, add, sub, mul, div, floor_div, floor_mod = arithmetic(strictly).values()


def plus(total: Value | None, part: Value | None) -> Any:
    """Return the sum of two cotangents; None stands for one that is not there."""
    return part if total is None else total if part is None else add(total, part)
