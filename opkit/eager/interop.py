"""numpy functions on Tensors: a ufunc goes through the op of its name and so keeps the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import ops
from opkit.eager.tensor import Tensor
from opkit.errors import AutogradError
from opkit.ir import current_dialect
from opkit.ops.core.mode import local
from opkit.ops.methods import BUILDERS


class UfuncError(AutogradError, TypeError):
    """numpy was called in a way that would lose a gradient."""


#: ufuncs whose builder has their name.
_SAME = """
    add maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    sign exp expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh floor ceil trunc rint
"""

#: ufunc -> op builder. Where names differ from numpy's, the right-hand side is the same function of its arguments.
UFUNCS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): BUILDERS[name] for name in _SAME.split()},
    np.subtract: BUILDERS["sub"],
    np.multiply: BUILDERS["mul"],
    np.true_divide: BUILDERS["div"],
    np.floor_divide: BUILDERS["floor_div"],
    np.remainder: BUILDERS["floor_mod"],
    np.negative: ops.neg,
    np.power: BUILDERS["pow"],
    np.float_power: BUILDERS["pow"],
    np.matmul: ops.matmul,
    np.logical_not: ops.logical_not,
    np.absolute: BUILDERS["abs"],
    np.fabs: BUILDERS["abs"],
    np.arcsin: BUILDERS["asin"],
    np.arccos: BUILDERS["acos"],
    np.arctan: BUILDERS["atan"],
    np.arcsinh: BUILDERS["asinh"],
    np.arccosh: BUILDERS["acosh"],
    np.arctanh: BUILDERS["atanh"],
    np.isnan: ops.isnan,
    np.isinf: ops.isinf,
    np.isfinite: ops.isfinite,
}


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a numpy ufunc on Tensors (numpy's ``__array_ufunc__`` protocol).

    Raises:
        UfuncError: the ufunc has no op, or was called in a way that ops do not support, and an input takes a gradient.
    """
    build = UFUNCS.get(ufunc) if method == "__call__" and not kwargs else None
    if build is not None:
        return build(*[ops.as_value(item) if isinstance(item, ndarray) else item for item in inputs])
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
            help=current_dialect().words.keep_gradient,
        )
