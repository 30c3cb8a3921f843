"""What the facade checks of arguments before it hands them to the op builders."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, ShapeError
from opkit.ir import Shape
from opkit.ops.core.types import Function, Name


def needed(item: Any) -> Any:
    """Return an argument of the function that calls this, a Tensor or Variable, as it is.

    Raises:
        DtypeError: it is something else (Paddle raises ValueError); the caller's frame tells what it is called.
    """
    if not hasattr(item, "_data"):
        caller = sys._getframe(1)
        argument = next((name for name, value in caller.f_locals.items() if value is item), "x")
        need_value(caller.f_code.co_name, argument, item)
    return item


def need_value(function: str, argument: str, item: Any) -> Any:
    """Return a Tensor or Variable as it is, where the function does not call its argument so or has another name.

    Raises:
        DtypeError: it is something else (Paddle raises ValueError).
    """
    if not hasattr(item, "_data"):
        raise DtypeError(
            f"{function}(): argument {argument!r} must be a Tensor, got {type(item).__name__}",
            help="paddle.to_tensor makes a Tensor of numbers, lists and arrays",
        )
    return item


def need_axes(function: str, x: Any, count: int) -> Any:
    """Return a Tensor or Variable as it is.

    Raises:
        DtypeError: it is something else.
        ShapeError: it has another number of axes.
    """
    if len(need_value(function, "x", x)._data.shape) != count:
        raise ShapeError(f"{function} takes tensors of {count} axes, got {list(x.shape)}")
    return x


def titled(function: Function, name: str, text: str | None) -> Function:
    """Return a function under Paddle's name, with a docstring, such as that of the op builder that it calls."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def of_one(name: str, build: Callable[[Any], Any]) -> Function:
    """Return Paddle's function of one operand that an op builder computes."""

    def function(x: Any, name: Name = None) -> Any:
        if not hasattr(x, "_data"):
            need_value(function.__name__, "x", x)
        return build(x)

    return titled(function, name, build.__doc__)


def ints(items: Any) -> list[int]:
    """Return a list of ints from an int, a Tensor, or a sequence of ints and Tensors."""
    if hasattr(items, "_data") and items._data.ndim:
        return [int(item) for item in items.numpy().reshape(-1)]
    try:
        if hasattr(items, "__index__"):
            return [items.__index__()]
        return [item.__index__() for item in items]
    except (AttributeError, TypeError):
        raise DtypeError(f"an int or a list of ints is needed, got {items!r}") from None


def plain_shape(function: str, shape: Any) -> Shape:
    """Return a shape given as a list, a tuple, an array of one axis or a Tensor.

    Raises:
        DtypeError: it is something else; a bare int is taken where ``shape_or_size`` reads the shape.
    """
    if isinstance(shape, ndarray) and shape.ndim == 1:
        shape = shape.tolist()
    if not isinstance(shape, (list, tuple)) and not hasattr(shape, "_data"):
        raise DtypeError(f"{function}(): shape must be a list or tuple of ints, got {type(shape).__name__} {shape!r}")
    return tuple(ints(shape))


def shape_or_size(function: str, shape: Any) -> Shape:
    """Return a shape as ``plain_shape`` does, or from an int (Python's or numpy's), the size of a single axis.

    Raises:
        DtypeError: it is neither; a bool is not a size.
    """
    if isinstance(shape, (int, np.integer)) and not isinstance(shape, bool):
        return (int(shape),)
    return plain_shape(function, shape)


def axis_of(axis: Any) -> Any:
    """Return an axis argument as the builders take it: None, an int, or a tuple."""
    if axis is None or isinstance(axis, int):
        return axis
    return tuple(ints(axis))
