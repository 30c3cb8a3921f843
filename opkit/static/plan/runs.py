"""Runs: consecutive elementwise ops on large arrays, computed piece by piece so that the pieces stay in the cache.

Which ops form a run is decided here; their text is ``opkit.static.plan.blocks``'s.

Pieces: how a run of elementwise ops is computed, piece by piece, and over threads where there are several.

numpy releases the interpreter lock while it computes. Which ops form a run is ``opkit.static.plan.runs``'s.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, Shape, Value, to_numpy
from opkit.record import record
from opkit.static.plan.sizes import Known

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


#: Elements per piece: a handful of float32 pieces fit into a core's second-level cache.
PIECE = 16384


def flat(array: ndarray) -> ndarray:
    """Return an array of one axis with the elements in C order: a view, or a copy where there is none."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if not any(array.strides):
        return np.broadcast_to(array[(0,) * array.ndim], (array.size,))
    return np.ascontiguousarray(array).reshape(-1)


_pool: list[ThreadPoolExecutor] = []


def threads() -> int:
    """Return the number of threads to compute with: OMP_NUM_THREADS where it is set, else one per processor."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(count or 1, 8)


def spread(part: Callable[[int, int], None], size: int) -> None:
    """Compute all pieces, over threads where there are several: ``part(first, end)`` computes one stretch."""
    count = threads()
    if count == 1:
        part(0, size)
        return
    if not _pool:
        from concurrent.futures import ThreadPoolExecutor  # a third of what this package takes to import

        _pool.append(ThreadPoolExecutor(max(count - 1, 1), thread_name_prefix="opkit"))
    stretch = -(-size // (count * PIECE)) * PIECE
    waiting = [_pool[0].submit(part, first, min(first + stretch, size)) for first in range(stretch, size, stretch)]
    try:
        part(0, min(stretch, size))
    finally:
        for item in waiting:
            item.result()


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
