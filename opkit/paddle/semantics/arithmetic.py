"""Functions of integers: what Paddle computes in integers, and what it cuts off to them.

A float64 has no room for all int64, so that functions which map integers to integers do not go through it.

Variance and standard deviation as Paddle has them: of one element they are 0, also where they are unbiased.

Writing by indices where Paddle's rule is not the shared one: rows that are summed instead of replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.ops.core.value import shape_of
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


def var(x: Any, axis: Any, unbiased: bool, keepdims: bool) -> Any:
    """Return the variance over axes, divided by n - 1 where ``unbiased`` and n exceeds 1.

    Source: Paddle 2.6, paddle.var.
    """
    return ops.var(x, axis, keepdims, unbiased and _counts_several(x, axis))


def std(x: Any, axis: Any, unbiased: bool, keepdims: bool) -> Any:
    """Return the standard deviation over axes, of n - 1 where ``unbiased`` and n exceeds 1.

    Source: Paddle 2.6, paddle.std.
    """
    return ops.std(x, axis, keepdims, unbiased and _counts_several(x, axis))


def _counts_several(x: Any, axes: Any) -> bool:
    """Return whether more than one element is reduced; true where that is not known."""
    shape = shape_of(x)
    if axes is None:
        return shape != (1,) * len(shape)
    return len(shape) > 0 and not {shape[one] for one in ([axes] if isinstance(axes, int) else axes)} <= {1}


def scatter(x: Any, indices: Any, updates: Any, overwrite: bool = True) -> Any:
    """Return ``x`` with rows replaced by the updates; without ``overwrite`` the updates of a row are summed instead.

    Source: Paddle 2.6, paddle.scatter: not overwriting starts from 0, so that the old row does not count.
    """
    if overwrite:
        return ops.scatter(x, indices, updates)
    column = ops.reshape(indices, (-1, 1))
    return ops.scatter_nd_add(ops.scatter(x, indices, ops.mul(updates, 0)), column, updates)
