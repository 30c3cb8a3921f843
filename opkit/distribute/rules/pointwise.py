"""Ops that work element by element: split along any axis; partial sums pass through those that are linear.

Source: OneFlow v0.4.0, user/ops/math_unary_elementwise_op.cpp, math_binary_broadcast_ops.cpp, add_n_op.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opkit.distribute.way import Facts, Shape, Way
from opkit.sharding import BROADCAST, PARTIAL, Sbp, split
from opkit.tables import by_name


def elementwise(facts: Facts) -> Iterator[Way]:
    """Split each axis of the result; inputs that lack the axis, or have size 1 there, are whole."""
    whole = facts.results[0]
    for axis, size in enumerate(whole):
        if size > 1:
            inputs = tuple(None if shape is None else _along(shape, whole, axis) for shape in facts.inputs)
            yield Way(inputs, (split(axis),) * len(facts.results))


def _along(shape: Shape, whole: Shape, axis: int) -> Sbp:
    own = axis - (len(whole) - len(shape))
    return split(own) if own >= 0 and shape[own] == whole[axis] else BROADCAST


def _linear(facts: Facts) -> Iterator[Way]:
    """A sum of partial sums is their result's: of ops that add their inputs or keep their one input."""
    yield Way(facts.all_inputs(PARTIAL), (PARTIAL,) * len(facts.results))


def _scaling(*partial: int) -> Callable[[Facts], Iterator[Way]]:
    """Each of these inputs may be a partial sum while the others are whole; integer division is not linear."""

    def ways(facts: Facts) -> Iterator[Way]:
        if not all(dtype is None or dtype.kind in "fc" for dtype in facts.dtypes):
            return
        for chosen in partial:
            inputs = tuple(
                None if shape is None else PARTIAL if index == chosen else BROADCAST
                for index, shape in enumerate(facts.inputs)
            )
            yield Way(inputs, (PARTIAL,))

    return ways


def _same(facts: Facts) -> Iterator[Way]:
    """Split inputs and results of one shape alike."""
    for axis in range(len(facts.given(0))):
        yield Way(facts.all_inputs(split(axis)), (split(axis),) * len(facts.results))


def _keep(facts: Facts) -> Iterator[Way]:
    yield from _same(facts)
    yield from _linear(facts)


def _made_like(facts: Facts) -> Iterator[Way]:
    """An op that fills a result of the shape of its input."""
    yield from elementwise(facts)


def _filled(facts: Facts) -> Iterator[Way]:
    """An op that fills a result whose shape is an attribute."""
    for axis in range(len(facts.results[0])):
        yield Way((), (split(axis),), "shape")


RULES = {
    "cast_like": elementwise,
    "constant": _filled,
    **by_name(
        {
            _linear: "identity negative add_n broadcast_add broadcast_sub",
            _scaling(0): "scalar_mul scalar_div broadcast_div scalar_mul_by_tensor",
            _scaling(0, 1): "multiply broadcast_mul",
            _keep: "amp_white_identity copy identity_buffer cast_to_static_shape",
            _made_like: "ones_like zero_like full_like",
            _same: "elementwise_maximum_backward elementwise_minimum_backward",
        }
    ),
}
