"""Products of matrices: rows, columns, or the terms of each sum.

Source: OneFlow v0.4.0, user/ops/matmul_op.cpp.
"""

from __future__ import annotations

from opkit.distribute.way import Facts, Way, Ways
from opkit.ir import Shape
from opkit.sharding import BROADCAST, PARTIAL, Sbp, split


def _product(facts: Facts) -> Ways:
    a, b, out = facts.given(0), facts.given(1), facts.results[0]
    ra, rb, rank = len(a), len(b), len(out)
    if ra < 2 or rb < 2:
        return
    has_added = len(facts.inputs) > 2 and facts.inputs[2] is not None
    row, a_inner = (ra - 1, ra - 2) if facts.attrs["transpose_a"] else (ra - 2, ra - 1)
    b_inner, column = (rb - 1, rb - 2) if facts.attrs["transpose_b"] else (rb - 2, rb - 1)

    def way(left: Sbp, right: Sbp, result: Sbp) -> Way:
        added = (result if has_added else None,) * (len(facts.inputs) - 2)
        return Way((left, right, *added), (result,))

    yield way(split(row), BROADCAST, split(rank - 2))
    yield way(BROADCAST, split(column), split(rank - 1))
    yield way(split(a_inner), split(b_inner), PARTIAL)
    yield way(PARTIAL, BROADCAST, PARTIAL)
    yield way(BROADCAST, PARTIAL, PARTIAL)
    for axis in range(rank - 2):
        left = _batch(a, axis - (rank - ra), out[axis])
        right = _batch(b, axis - (rank - rb), out[axis])
        yield way(left, right, split(axis))


def _batch(shape: Shape, axis: int, size: int) -> Sbp:
    return split(axis) if axis >= 0 and shape[axis] == size else BROADCAST


RULES = {"matmul": _product, "batch_matmul": _product, "broadcast_matmul": _product}
