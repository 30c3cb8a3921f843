"""Functions of integers: what Paddle computes in integers, and what it cuts off to them.

A float64 has no room for all int64, so that functions which map integers to integers do not go through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.paddle.semantics import builders as ops


def _closed(build: Callable[[Any], Any], exact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a builder that computes integers as integers."""

    def built(x: Any) -> Any:
        return exact(x) if x._data.dtype.kind in "iu" else build(x)

    built.__doc__ = build.__doc__
    return built


def _sign(x: Any) -> Any:
    kind = x._data.dtype.name
    return ops.sub(ops.cast(ops.greater(x, 0), kind), ops.cast(ops.less(x, 0), kind))


#: The functions that map integers to integers, by name.
#:
#: Source: Paddle 2.6.
CLOSED: dict[str, Callable[[Any], Any]] = {
    "abs": _closed(ops.abs, lambda x: ops.maximum(x, ops.neg(x))),
    "sign": _closed(ops.sign, _sign),
    "square": _closed(ops.square, lambda x: ops.mul(x, x)),
    "trunc": _closed(ops.trunc, ops.identity),
}


def divide(x: Any, y: Any) -> Any:
    """Return ``x / y``; of integers the integer next to 0 (the operator ``/`` makes floats of them)."""
    if x._data.dtype.kind in "iu" and y._data.dtype.kind in "iu":
        floor = ops.floor_div(x, y)
        rest = ops.not_equal(ops.mul(floor, y), x)
        is_below = ops.logical_and(rest, ops.logical_xor(ops.less(x, 0), ops.less(y, 0)))
        return ops.add(floor, ops.cast(is_below, floor._data.dtype.name))
    return ops.div(x, y)


def whole(x: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of a tensor; of integers it is computed in float64 and cut off towards 0."""
    kind = x._data.dtype
    return ops.cast(function(ops.cast(x, "float64")), kind) if kind.kind in "iu" else function(x)
