"""Ops that reduce or scan axes: axes that stay may be split; a sum over a split axis is a partial sum.

Source: OneFlow v0.4.0, user/ops/reduce_ops.cpp, softmax_op.cpp.
"""

from __future__ import annotations

from opkit.distribute.way import Facts, Way, Ways
from opkit.sharding import BROADCAST, PARTIAL, split


def _reduced(facts: Facts) -> set[int]:
    rank = facts.rank
    axes = facts.attrs["axis"]
    listed = (axes,) if isinstance(axes, int) else tuple(axes or ())
    return {axis % rank for axis in listed} if listed else set(range(rank))


def _kept(facts: Facts) -> Ways:
    """Split the axes that are not reduced."""
    gone = _reduced(facts)
    keeps = bool(facts.attrs["keepdims"])
    for axis in range(facts.rank):
        if axis not in gone:
            place = axis if keeps else axis - sum(1 for item in gone if item < axis)
            yield Way((split(axis),), (split(place),))


def _sum(facts: Facts) -> Ways:
    yield from _kept(facts)
    for axis in _reduced(facts):
        yield Way((split(axis),), (PARTIAL,))
    yield Way((PARTIAL,), (PARTIAL,))


def _mean(facts: Facts) -> Ways:
    yield from _kept(facts)
    yield Way((PARTIAL,), (PARTIAL,))


def _mean_grad(facts: Facts) -> Ways:
    """The gradient of a mean, repeated over the axes that were reduced, which say how many there are."""
    like = facts.given(1)
    axes = facts.attrs["axis"]
    listed = (axes,) if isinstance(axes, int) else tuple(axes or range(len(like)))
    gone = {axis % len(like) for axis in listed}
    keeps = bool(facts.attrs["keepdims"])
    for axis in range(len(like)):
        if axis not in gone:
            place = axis if keeps else axis - sum(1 for item in gone if item < axis)
            yield Way((split(place), split(axis)), (split(axis),))
    yield Way((PARTIAL, BROADCAST), (PARTIAL,))


def _sum_like(facts: Facts) -> Ways:
    """A sum over axes down to the shape of another tensor."""
    source, target = facts.given(0), facts.given(1)
    if len(source) == len(target):
        for axis, size in enumerate(source):
            if target[axis] == size:
                yield Way((split(axis), split(axis)), (split(axis),))
            else:
                yield Way((split(axis), BROADCAST), (PARTIAL,))
    else:
        gone = {axis % len(source) for axis in facts.attrs["axis"]}
        for axis in gone:
            yield Way((split(axis), BROADCAST), (PARTIAL,))
    yield Way((PARTIAL, BROADCAST), (PARTIAL,))


def rows(facts: Facts) -> Ways:
    """An op that works along the last axis: all others may be split."""
    for axis in range(facts.rank - 1):
        yield facts.alike(split(axis))


def _along(facts: Facts) -> Ways:
    """An op that works along one axis: all others may be split."""
    rank = facts.rank
    for axis in range(rank):
        if axis != facts.attrs["axis"] % rank:
            yield facts.alike(split(axis))


RULES = {
    "reduce_sum": _sum,
    "reduce_mean": _mean,
    "reduce_mean_grad": _mean_grad,
    "reduce_sum_like": _sum_like,
    **dict.fromkeys(
        (
            "reduce_max",
            "reduce_min",
            "reduce_max_each",
            "reduce_min_each",
            "reduce_prod",
            "reduce_any",
            "reduce_all",
            "logsumexp",
        ),
        _kept,
    ),
    **dict.fromkeys(("softmax", "softmax_grad", "log_softmax", "log_softmax_grad", "sort", "arg_sort", "top_k"), rows),
    "cumsum": _along,
    "cumprod": _along,
}
