"""Arithmetic that does not broadcast: operands of one shape, and a tensor of one element with another tensor.

Their broadcasting siblings, and tensors with a plain number, are in ``opkit.ops.basis.arithmetic``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ops.basis.arithmetic import div, mul, neg, quotient_of
from opkit.ops.basis.broadcasting import reduce_sum, sum_to
from opkit.ops.core.define import NO_ATTRS, define, quiet
from opkit.ops.core.inference import same_shape, unchanged
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import GradRule, OpDef
from opkit.ops.core.types import Function, Out, Values
from opkit.ops.core.value import Value

_add, _sub, _mul = quiet(np.add), quiet(np.subtract), quiet(np.multiply)


# ---- operands of one shape -------------------------------------------------------------------------------------------
def _strict(kernel: Function, name: str) -> Function:
    def checked(x: ndarray, y: ndarray, out: Out = None) -> Any:
        if x.shape != y.shape:
            raise ShapeError(f"op {name!r}: the shapes {x.shape} and {y.shape} must be the same")
        return kernel(x, y, out=out)

    return checked


def _multiply_grad(applied: Any, douts: Values) -> Values:
    x, y = applied.inputs
    need_x, need_y = applied.needs
    return multiply(douts[0], y) if need_x else None, multiply(douts[0], x) if need_y else None


@quiet
def _add_n(*arrays: ndarray, out: Out = None) -> Any:
    if any(array.shape != arrays[0].shape for array in arrays):
        raise ShapeError(f"op 'add_n': the shapes {', '.join(str(a.shape) for a in arrays)} must be the same")
    total = np.empty_like(arrays[0]) if out is None else out
    if len(arrays) > 1:
        np.add(arrays[0], arrays[1], out=total)
    else:
        np.copyto(total, arrays[0])
    for array in arrays[2:]:
        np.add(total, array, out=total)
    return total


MULTIPLY = define(
    "multiply",
    "x y",
    "out",
    _strict(_mul, "multiply"),
    infer=same_shape("multiply"),
    grad=_multiply_grad,
    reads="x y",
    out=_strict(_mul, "multiply"),
    elementwise=True,
)
ADD_N = define(
    "add_n",
    "*in",
    "out",
    _add_n,
    infer=same_shape("add_n"),
    grad=lambda applied, douts: [douts[0]] * len(applied.inputs),
    out=_add_n,
    elementwise=True,
)


def multiply(x: Value, y: Value) -> Value:
    """Return the product of two values of one shape and dtype."""
    return local.mode.apply(MULTIPLY, (x, y), NO_ATTRS)


def add_n(values: Values) -> Value:
    """Return the sum of values of one shape and dtype."""
    if not values:
        raise ShapeError("op 'add_n' needs at least one tensor")
    return local.mode.apply(ADD_N, tuple(values), NO_ATTRS)


# ---- a tensor of one element and a tensor (scalar_*_by_tensor) ---------------------------------------------
def _one_element(kernel: Function) -> Function:
    def by_tensor(x: ndarray, scalar: ndarray, out: Out = None) -> Any:
        if scalar.size != 1:
            raise ShapeError(f"op 'scalar_*_by_tensor': the scalar has shape {scalar.shape}, one element is needed")
        return kernel(x, scalar.reshape(()), out=out)

    return by_tensor


def _by_tensor(name: str, kernel: Function, grad: GradRule, reads: str) -> OpDef:
    by_tensor = _one_element(kernel)
    return define(
        name, "x scalar", "y", by_tensor, infer=unchanged, grad=grad, reads=reads, out=by_tensor, elementwise=True
    )


def _scalar_cotangent(cotangent: Value, scalar: Value) -> Value:
    return sum_to(reduce_sum(cotangent, keepdims=True), scalar) if len(scalar.shape) else reduce_sum(cotangent)


def _add_by_grad(applied: Any, douts: Values) -> Values:
    return douts[0], _scalar_cotangent(douts[0], applied.inputs[1])


def _sub_by_grad(applied: Any, douts: Values) -> Values:
    return douts[0], neg(_scalar_cotangent(douts[0], applied.inputs[1]))


def _mul_by_grad(applied: Any, douts: Values) -> Values:
    x, scalar = applied.inputs
    return mul(douts[0], scalar), _scalar_cotangent(mul(douts[0], x), scalar)


def _div_by_grad(applied: Any, douts: Values) -> Values:
    scalar = applied.inputs[1]
    dx = div(douts[0], scalar)
    return dx, neg(_scalar_cotangent(mul(dx, applied.outputs[0]), scalar))


SCALAR_ADD_BY_TENSOR = _by_tensor("scalar_add_by_tensor", _add, _add_by_grad, "")
SCALAR_SUB_BY_TENSOR = _by_tensor("scalar_sub_by_tensor", _sub, _sub_by_grad, "")
SCALAR_MUL_BY_TENSOR = _by_tensor("scalar_mul_by_tensor", _mul, _mul_by_grad, "x scalar")
SCALAR_DIV_BY_TENSOR = _by_tensor("scalar_div_by_tensor", quotient_of, _div_by_grad, "scalar y")
