"""Comparisons and logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.ops.composed import pointwise
from opkit.ops.core.types import Function, Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value, needed, titled
from opkit.shim.missing import guard as _guard
from opkit.static.overwriting import overwrite

__all__ = ["COMPARISONS", "allclose", "equal_all", "isclose", "logical_and", "logical_not", "logical_or", "logical_xor"]


def _comparison(name: str, build: Callable[[Any, Any], Any]) -> Function:
    def function(x: Any, y: Any, name: Name = None) -> Any:
        return build(need_value(function.__name__, "x", x), y)

    return titled(function, name, build.__doc__)


def _comparisons(**builders: Callable[[Any, Any], Any]) -> dict[str, Function]:
    return {name: _comparison(name, build) for name, build in builders.items()}


#: Paddle's name -> function of two operands.
COMPARISONS = _comparisons(
    equal=ops.equal,
    not_equal=ops.not_equal,
    less_than=ops.less,
    less_equal=ops.less_equal,
    greater_than=ops.greater,
    greater_equal=ops.greater_equal,
)


def logical_and(x: Any, y: Any, out: Any = None, name: Name = None) -> Any:
    """Return x and y, element by element."""
    return _into(out, ops.logical_and(needed(x), needed(y)))


def logical_or(x: Any, y: Any, out: Any = None, name: Name = None) -> Any:
    """Return x or y, element by element."""
    return _into(out, ops.logical_or(needed(x), needed(y)))


def logical_xor(x: Any, y: Any, out: Any = None, name: Name = None) -> Any:
    """Return x or y but not both, element by element."""
    return _into(out, ops.logical_xor(needed(x), needed(y)))


def logical_not(x: Any, out: Any = None, name: Name = None) -> Any:
    """Return not x, element by element."""
    return _into(out, ops.logical_not(needed(x)))


def _into(out: Any, result: Any) -> Any:
    if out is None:
        return result
    return overwrite(out, result)


def equal_all(x: Any, y: Any, name: Name = None) -> Any:
    """Return whether two tensors have the same shape and elements."""
    if tuple(x.shape) != tuple(y.shape):
        return ops.constant(False)
    return ops.reduce_all(ops.equal(x, y))


def isclose(
    x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: Name = None
) -> Any:
    """Say element by element whether ``abs(x - y) <= atol + rtol * abs(y)``."""
    return pointwise.is_close(x, y, float(rtol), float(atol), equal_nan=equal_nan)


def allclose(
    x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: Name = None
) -> Any:
    """Return whether all elements are close."""
    return ops.reduce_all(isclose(x, y, rtol, atol, equal_nan))


globals().update(COMPARISONS)

__getattr__ = _guard(globals())
