"""Runs: consecutive elementwise ops on large arrays, computed piece by piece so that the pieces stay in the cache.

Which ops form a run is decided here; their text is ``opkit.static.plan.blocks``'s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from numpy import ndarray

from opkit.ir import Operation, Shape, Value, to_numpy
from opkit.record import record
from opkit.static.plan.pieces import threads
from opkit.static.plan.sizes import Known

#: Arrays with fewer elements are in the cache anyway.
_LEAST = 1 << 18


@record
class Run:
    """Consecutive elementwise ops of one shape.

    Args:
        start: position of the first op.
        end: position after the last op.
        inside: Values that nothing outside the run reads: they exist piece by piece only.
    """

    start: int
    end: int
    inside: frozenset[Value]


def find_runs(
    ops: Sequence[Operation], known: Known, constants: Mapping[Value, ndarray], last: Mapping[Value, int]
) -> list[Run]:
    """Return the runs of a plan, in order.

    Args:
        ops: what the plan runs.
        known: descriptions that are valid in the run.
        constants: Values that are not computed.
        last: position at which each Value is read for the last time.
    """
    runs: list[Run] = []
    position = 0
    while position < len(ops):
        shape = _shape_of(ops[position], known, constants)
        end = position + 1
        if shape is not None:
            while end < len(ops) and _shape_of(ops[end], known, constants) == shape:
                end += 1
            if end - position > 1 or threads() > 1:
                made = [op.outputs[0] for op in ops[position:end]]
                inside = frozenset(value for value in made if last.get(value, -1) < end)
                runs.append(Run(position, end, inside))
        position = end
    return runs


def _shape_of(op: Operation, known: Known, constants: Mapping[Value, ndarray]) -> Shape | None:
    """Return the shape of a large elementwise op whose operands all have it or are scalars; None for any other op."""
    opdef: Any = op.opdef
    if not opdef.is_elementwise or opdef.kernel_out is None or opdef.is_user or opdef.is_random or opdef.is_view:
        return None
    if len(op.outputs) != 1 or op.outputs[0].variable.persistable or opdef.has_side_effect:
        return None
    desc = known[op.outputs[0]]
    if not desc.is_static or math.prod(desc.shape) < _LEAST or to_numpy(desc.dtype).kind not in "biufc":
        return None
    for value in op.inputs:
        if value is not None and known[value].shape != desc.shape and not _is_scalar(value, known, constants):
            return None
    return desc.shape


def _is_scalar(value: Value, known: Known, constants: Mapping[Value, ndarray]) -> bool:
    return known[value].shape == () or (value in constants and constants[value].ndim == 0)
