"""numpy functions on Tensors: a ufunc goes through the op of its name and so keeps the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit import ops
from opkit.eager.tensor import Tensor
from opkit.errors import AutogradError
from opkit.ops.core.mode import local

__all__ = ["UFUNCS", "array_ufunc"]


class UfuncError(AutogradError, TypeError):
    """numpy was asked for something that would lose a gradient."""


#: ufunc -> op builder. Where names differ from numpy's, the right-hand side is the same function of its arguments.
UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: ops.add,
    np.subtract: ops.sub,
    np.multiply: ops.mul,
    np.true_divide: ops.div,
    np.floor_divide: ops.floor_div,
    np.remainder: ops.floor_mod,
    np.negative: ops.neg,
    np.power: ops.pow,
    np.float_power: ops.pow,
    np.matmul: ops.matmul,
    np.maximum: ops.maximum,
    np.minimum: ops.minimum,
    np.equal: ops.equal,
    np.not_equal: ops.not_equal,
    np.less: ops.less,
    np.less_equal: ops.less_equal,
    np.greater: ops.greater,
    np.greater_equal: ops.greater_equal,
    np.logical_and: ops.logical_and,
    np.logical_or: ops.logical_or,
    np.logical_xor: ops.logical_xor,
    np.logical_not: ops.logical_not,
    np.absolute: ops.abs,
    np.fabs: ops.abs,
    np.sign: ops.sign,
    np.exp: ops.exp,
    np.expm1: ops.expm1,
    np.log: ops.log,
    np.log2: ops.log2,
    np.log10: ops.log10,
    np.log1p: ops.log1p,
    np.sqrt: ops.sqrt,
    np.square: ops.square,
    np.reciprocal: ops.reciprocal,
    np.sin: ops.sin,
    np.cos: ops.cos,
    np.tan: ops.tan,
    np.arcsin: ops.asin,
    np.arccos: ops.acos,
    np.arctan: ops.atan,
    np.sinh: ops.sinh,
    np.cosh: ops.cosh,
    np.tanh: ops.tanh,
    np.arcsinh: ops.asinh,
    np.arccosh: ops.acosh,
    np.arctanh: ops.atanh,
    np.floor: ops.floor,
    np.ceil: ops.ceil,
    np.trunc: ops.trunc,
    np.rint: ops.rint,
    np.isnan: ops.isnan,
    np.isinf: ops.isinf,
    np.isfinite: ops.isfinite,
}


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a numpy ufunc on Tensors (numpy's ``__array_ufunc__`` protocol).

    Raises:
        UfuncError: the ufunc has no op, or was called in a way that ops do not know, and an input takes a gradient.
    """
    build = UFUNCS.get(ufunc) if method == "__call__" and not kwargs else None
    if build is not None:
        return build(*[ops.as_value(item) if isinstance(item, np.ndarray) else item for item in inputs])
    _refuse_lost_gradient(f"numpy.{ufunc.__name__}", inputs)
    plain = [np.asarray(item) if isinstance(item, Tensor) else item for item in inputs]
    out = kwargs.get("out")
    if out is not None and any(isinstance(item, Tensor) for item in out):
        raise UfuncError(f"numpy.{ufunc.__name__} cannot write into a Tensor (out=)")
    return getattr(ufunc, method)(*plain, **kwargs)


def _tensors(items: Any) -> Any:
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif type(item) in (list, tuple):
            yield from _tensors(item)


def _refuse_lost_gradient(name: str, items: Any) -> None:
    if local.mode.is_grad_enabled and any(not tensor._sg for tensor in _tensors(items)):
        raise UfuncError(
            f"{name} has no op in opkit, and its argument takes a gradient, which would be lost",
            help="use a paddle function, or x.detach() where no gradient is meant",
        )
