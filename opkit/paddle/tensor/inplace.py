"""The functions whose names end in ``_``: the same functions, written into their first argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from opkit.eager import Tensor, become, check_inplace
from opkit.eager.tensor import version_cell
from opkit.errors import UsageError
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function, Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor import creation, layout, linalg, logic, manipulation, math, selection


def in_place(function: Function) -> Function:
    """Return a function that writes another's result into its first argument; in a graph it returns that result."""
    name = f"{function.__name__}_"

    @wraps(function)
    def change(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Tensor):
            return function(x, *args, **kwargs)
        check_inplace(x, name)
        return become(x, function(x, *args, **kwargs), name)

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"Do ``{function.__name__}`` in place, with gradients; return x."
    return change


def _reshaping(function: Function) -> Function:
    name = f"{function.__name__}_"

    @wraps(function)
    def change(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Tensor):
            return function(x, *args, **kwargs)
        check_inplace(x, name)
        result = function(x, *args, **kwargs)
        x._data = result._data
        version_cell(x)[0] += 1
        if local.mode.is_grad_enabled:
            x._node, x._index, x._sg = result._node, result._index, result._sg
        return x

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"Do ``{function.__name__}`` in place, with gradients; return x."
    return change


def _of_operator(name: str, build: Callable[[Any, Any], Any]) -> Function:
    def function(x: Any, y: Any, name: Name = None) -> Any:
        return build(x, y)

    function.__name__ = name
    return in_place(function)


#: name with its underscore -> function.
INPLACE: dict[str, Function] = {
    **{f"{name}_": in_place(function) for name, function in math.UNARY.items() if not name.startswith("is")},
    **{f"{name}_": in_place(function) for name, function in math.BINARY.items() if name not in ("maximum", "minimum")},
    **{
        f"{name}_": _of_operator(name, build)
        for name, build in {"add": ops.add, "subtract": ops.sub, "multiply": ops.mul, "divide": ops.div}.items()
    },
    **{f"{name}_": in_place(getattr(math, name)) for name in ("clip", "scale", "pow", "lerp", "cumsum")},
    **{f"{name}_": in_place(function) for name, function in logic.COMPARISONS.items()},
    **{
        f"{name}_": in_place(getattr(module, name))
        for module, names in {
            creation: "tril triu",
            logic: "logical_and logical_not logical_or logical_xor",
            manipulation: "put_along_axis scatter",
            linalg: "addmm",
            math: "cumprod erfinv frac nan_to_num",
            selection: "index_add index_put masked_fill",
        }.items()
        for name in names.split()
    },
    **{
        f"{name}_": _reshaping(getattr(manipulation, name))
        for name in ("cast", "flatten", "reshape", "squeeze", "t", "transpose", "unsqueeze")
    },
}


def fill_(x: Tensor, value: Any) -> Tensor:
    """Fill x with one number, in place."""
    check_inplace(x, "fill_")
    number = value.item() if hasattr(value, "item") else value
    if not isinstance(number, (int, float)):
        raise TypeError(f"fill_ takes a number, got {type(value).__name__}")
    return become(x, ops.setitem(x, Ellipsis, number), "fill_")


def zero_(x: Tensor) -> Tensor:
    """Fill x with zeros, in place."""
    return fill_(x, 0)


def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False, name: Name = None) -> Tensor:
    """Fill the diagonal with one number, in place; ``wrap`` starts again below a tall matrix's square."""
    check_inplace(x, "fill_diagonal_")
    return become(x, layout.fill_diagonal(x, float(value), offset, wrap), "fill_diagonal_")


def copy_(x: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Copy another Tensor's data into x, outside the graph."""
    if not isinstance(other, Tensor):
        raise UsageError(f"copy_ takes a Tensor, got {type(other).__name__}")
    x.set_value(np.asarray(other))  # type: ignore[attr-defined]  # methods are attached to Tensor at import
    return x


globals().update(INPLACE)
