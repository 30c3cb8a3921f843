"""The values of a formula in high precision, computed from the expressions as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy import ndarray

from opkit.errors import UsageError
from opkit.formula.graph import Axes, Formula, LogSumExp, MatMul, Operation, Reduce, Softmax, Swap
from opkit.formula.language import FUNCTIONS, Expr

_DIGITS = 40
_MODULES: list[Any] = [
    {
        function.symbolic.__name__: function.exact
        for function in FUNCTIONS.values()
        if function.symbolic is not sympy.sqrt
    },
    "mpmath",
]
Array = ndarray[Any, Any]


def exact_values(formula: Formula, values: Mapping[str, Array | float], digits: int = 0) -> dict[str, Array]:
    """Return the outputs as float64 arrays, each element computed with 40 digits.

    Args:
        formula: as ``read`` gives it.
        values: {input or attribute: value}.
        digits: how many to compute with in place of 40; the arrays then hold numbers of that many.

    Raises:
        UsageError: an output is a complex number.
    """
    with mpmath.workdps(digits or _DIGITS):
        known: dict[str, Any] = {
            name: np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(value, None if digits else np.float64))
            for name, value in values.items()
        }
        axes = {name: value for name, value in values.items() if isinstance(value, int)}
        for symbol, operation in formula.steps.items():
            known[symbol.name] = _step(operation, known, axes)
        outputs = {name: _elements(expr, known) for name, expr in formula.outputs.items()}
        if any(isinstance(item, mpmath.mpc) for value in outputs.values() for item in np.ravel(value)):
            raise UsageError(
                "the formula is not a real number at some of the inputs that were tried",
                help="keep its roots, logarithms and inverse functions to where they are defined, with clip or maximum",
            )
        return {name: np.asarray(value, object if digits else np.float64) for name, value in outputs.items()}


@lru_cache(maxsize=256)
def _compiled(expr: Expr) -> tuple[list[Expr], Any]:
    symbols = sorted(expr.free_symbols, key=str)
    return symbols, sympy.lambdify(symbols, expr, modules=_MODULES)


def _elements(expr: Expr, known: Mapping[str, Any]) -> Any:
    symbols, function = _compiled(expr)
    if not symbols:
        return np.asarray(function(), object)
    # Element by element: a function of numpy's takes no more than 64 arrays.
    arrays = np.broadcast_arrays(*(known[symbol.name] for symbol in symbols))
    values = np.empty(arrays[0].shape, object)
    values.reshape(-1)[:] = [function(*row) for row in zip(*(array.reshape(-1) for array in arrays), strict=True)]
    return values


def _axes(axes: Axes, names: Mapping[str, int]) -> Any:
    return names[axes] if isinstance(axes, str) else axes


def _step(operation: Operation, known: Mapping[str, Any], names: Mapping[str, int]) -> Any:
    match operation:
        case MatMul():
            return np.matmul(_elements(operation.left, known), _elements(operation.right, known))
        case Swap():
            return np.swapaxes(_elements(operation.operand, known), -1, -2)
        case Reduce():
            operand, axis = _elements(operation.operand, known), _axes(operation.axes, names)
            return _reduced(operation.kind, operand, axis, operation.keepdims)
        case Softmax():
            operand, axis = _elements(operation.operand, known), _axes(operation.axes, names)
            exp = np.frompyfunc(mpmath.exp, 1, 1)(operand)
            share = exp / np.sum(exp, axis=axis, keepdims=True)
            return np.frompyfunc(mpmath.log, 1, 1)(share) if operation.log else share
        case LogSumExp():
            operand, axis = _elements(operation.operand, known), _axes(operation.axes, names)
            exp = np.frompyfunc(mpmath.exp, 1, 1)(operand)
            total = _reduced("mean" if operation.is_mean else "sum", exp, axis, operation.keepdims)
            return np.frompyfunc(mpmath.log, 1, 1)(total)
    raise AssertionError(f"{operation} stands in no formula as read")


def _reduced(kind: str, operand: Any, axis: Any, keepdims: bool) -> Any:
    if kind in ("max", "min"):
        return getattr(np, kind)(operand, axis=axis, keepdims=keepdims)
    total = np.sum(operand, axis=axis, keepdims=keepdims)
    if kind == "sum":
        return total
    count = operand.size // max(np.asarray(total, object).size, 1)
    if kind == "mean":
        return total / count
    mean = np.sum(operand, axis=axis, keepdims=True) / count
    return np.sum((operand - mean) ** 2, axis=axis, keepdims=keepdims) / count
