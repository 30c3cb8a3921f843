"""Ops that work element by element: split along any axis; partial sums pass through those that are linear.

Source: OneFlow v0.4.0, user/ops/math_unary_elementwise_op.cpp, math_binary_broadcast_ops.cpp, add_n_op.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from opkit.distribute.way import Facts, Way, Ways
from opkit.ir import Shape
from opkit.sharding import BROADCAST, PARTIAL, Sbp, split


def elementwise(facts: Facts) -> Ways:
    """Split each axis of the result; inputs that lack the axis, or have size 1 there, are whole."""
    whole = facts.results[0]
    for axis, size in enumerate(whole):
        if size > 1:
            inputs = tuple(None if shape is None else _along(shape, whole, axis) for shape in facts.inputs)
            yield Way(inputs, (split(axis),) * len(facts.results))


def _along(shape: Shape, whole: Shape, axis: int) -> Sbp:
    own = axis - (len(whole) - len(shape))
    return split(own) if own >= 0 and shape[own] == whole[axis] else BROADCAST


def _linear(facts: Facts) -> Ways:
    """A sum of partial sums is their result's: of ops that add their inputs or keep their one input."""
    yield facts.alike(PARTIAL)


def _scaling(*partial: int) -> Callable[[Facts], Ways]:
    """Each of these inputs may be a partial sum while the others are whole; integer division is not linear."""

    def ways(facts: Facts) -> Ways:
        if not all(dtype is None or dtype.kind in "fc" for dtype in facts.dtypes):
            return
        for chosen in partial:
            inputs = tuple(
                None if shape is None else PARTIAL if index == chosen else BROADCAST
                for index, shape in enumerate(facts.inputs)
            )
            yield Way(inputs, (PARTIAL,))

    return ways


def _same(facts: Facts) -> Ways:
    """Split inputs and results of one shape alike."""
    for axis in range(facts.rank):
        yield facts.alike(split(axis))


def _keep(facts: Facts) -> Ways:
    yield from _same(facts)
    yield from _linear(facts)


def _filled(facts: Facts) -> Ways:
    """An op that fills a result whose shape is an attribute."""
    for axis in range(len(facts.results[0])):
        yield Way((), (split(axis),), "shape")


RULES = {
    "constant": _filled,
    **dict.fromkeys(("identity", "negative", "add_n", "broadcast_add", "broadcast_sub"), _linear),
    **dict.fromkeys(("scalar_mul", "scalar_div", "broadcast_div", "scalar_mul_by_tensor"), _scaling(0)),
    "multiply": _scaling(0, 1),
    "broadcast_mul": _scaling(0, 1),
    **dict.fromkeys(("amp_white_identity", "copy", "cast_to_static_shape"), _keep),
    **dict.fromkeys(("cast_like", "ones_like", "zero_like", "full_like"), elementwise),
}
