"""Ops that move elements: axes that an op leaves alone may be split, and partial sums pass through.

Source: OneFlow v0.4.0, user/ops/reshape_user_op_util.cpp, transpose_ops.cpp, concat_op.cpp, gather_op.cpp.
"""

from __future__ import annotations

import math

from opkit.distribute.way import Facts, Way, Ways
from opkit.sharding import BROADCAST, PARTIAL, Sbp, split


def _reshaped(facts: Facts, shape_attr: str = "") -> Ways:
    """An axis stays split where as many elements lie before it, and shards hold the same elements on both sides."""
    source, target = facts.given(0), facts.results[0]
    for axis, size in enumerate(source):
        before = math.prod(source[:axis])
        for other, wanted in enumerate(target):
            if math.prod(target[:other]) == before and _splits_alike(size, wanted, facts.count):
                inputs: tuple[Sbp | None, ...] = (split(axis), *([BROADCAST] * (len(facts.inputs) - 1)))
                if len(facts.inputs) > 1 and facts.inputs[1] == target:  # the one whose shape the result takes
                    inputs = (split(axis), split(other))
                yield Way(inputs, (split(other),), shape_attr)
    yield Way(facts.all_inputs(PARTIAL), (PARTIAL,), shape_attr)


def _splits_alike(size: int, wanted: int, count: int) -> bool:
    if size == wanted:
        return True
    smaller, larger = sorted((size, wanted))
    return smaller > 0 and larger % smaller == 0 and smaller % count == 0


def _reshape(facts: Facts) -> Ways:
    yield from _reshaped(facts, "shape")


def _transpose(facts: Facts) -> Ways:
    for axis, source in enumerate(facts.attrs["perm"]):
        yield Way((split(source % facts.rank),), (split(axis),))
    yield facts.alike(PARTIAL)


def _concat(facts: Facts) -> Ways:
    rank = len(facts.results[0])
    for axis in range(rank):
        if axis != facts.attrs["axis"] % rank:
            yield facts.alike(split(axis))
    yield facts.alike(PARTIAL)


def _gather(facts: Facts) -> Ways:
    """Indices may be split, and the axes of the table that are not looked up."""
    table, indices = facts.given(0), facts.given(1)
    at = facts.attrs["axis"] % len(table)
    for axis in range(len(indices)):
        yield Way((BROADCAST, split(axis)), (split(at + axis),))
    for axis in range(len(table)):
        if axis != at:
            yield Way((split(axis), BROADCAST), (split(axis if axis < at else axis + len(indices) - 1),))
    yield Way((PARTIAL, BROADCAST), (PARTIAL,))


def _segment_sum_like(facts: Facts) -> Ways:
    """Each device adds up its own rows: a partial sum. Source: OneFlow v0.4.0, unsorted_segment_sum_op.cpp."""
    at = facts.attrs["axis"] % len(facts.given(2))
    for axis in range(len(facts.given(1))):
        yield Way((split(at + axis), split(axis), BROADCAST), (PARTIAL,))


def _one_hot(facts: Facts) -> Ways:
    for axis in range(facts.rank):
        yield Way((split(axis),), (split(axis),))


def _broadcast_like(facts: Facts) -> Ways:
    """Axes that both have may be split together, and those that are made may be split alone."""
    source, target = facts.given(0), facts.results[0]
    if len(source) != len(target):
        return
    for axis, size in enumerate(target):
        own = split(axis) if source[axis] == size else BROADCAST
        yield Way((own, split(axis)), (split(axis),))


RULES = {
    "reshape": _reshape,
    "transpose": _transpose,
    "concat": _concat,
    "gather": _gather,
    "unsorted_segment_sum_like": _segment_sum_like,
    "one_hot": _one_hot,
    "broadcast_like": _broadcast_like,
    **dict.fromkeys(("reshape_like", "flatten", "squeeze", "expand_dims"), _reshaped),
}
