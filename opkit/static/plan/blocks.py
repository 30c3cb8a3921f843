"""Blocks: runs of elementwise ops on large arrays, computed piece by piece so that the pieces stay in a core's cache.

Which ops form a run is decided here, and their text is written here; pieces may be spread over threads, since numpy
lets go of the interpreter while it computes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opkit.ir import Operation, Value, to_numpy
from opkit.static.plan.quiet import unquiet
from opkit.static.plan.sizes import Known

if TYPE_CHECKING:
    from opkit.static.plan.emit import Emitter

__all__ = ["Run", "emit_run", "find_runs", "flat", "spread"]

#: Elements per piece: a handful of float32 pieces fit into a core's second-level cache.
_PIECE = 16384
#: Arrays with fewer elements are in the cache anyway.
_LEAST = 1 << 18


@dataclass(frozen=True, slots=True)
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


# ---- which ops -------------------------------------------------------------------------------------------------------
def find_runs(
    ops: Sequence[Operation], known: Known, constants: Mapping[Value, np.ndarray], last: Mapping[Value, int]
) -> list[Run]:
    """Return the runs of a plan, in order.

    Args:
        ops: what the plan runs.
        known: descriptions that will hold in the run.
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
            if end - position > 1 or _threads() > 1:
                made = [op.outputs[0] for op in ops[position:end]]
                inside = frozenset(value for value in made if last.get(value, -1) < end)
                runs.append(Run(position, end, inside))
        position = end
    return runs


def _shape_of(op: Operation, known: Known, constants: Mapping[Value, np.ndarray]) -> tuple[int, ...] | None:
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


def _is_scalar(value: Value, known: Known, constants: Mapping[Value, np.ndarray]) -> bool:
    return known[value].shape == () or (value in constants and constants[value].ndim == 0)


# ---- text ------------------------------------------------------------------------------------------------------------
def emit_run(emitter: Emitter, run: Run, line: Callable[[str, int | None], None]) -> None:
    """Write the text of a run.

    Args:
        emitter: gives names and knows where Values live.
        run: what to write.
        line: takes a line of text and the position of the op that it belongs to.
    """
    ops = emitter.ops[run.start : run.end]
    size = math.prod(emitter.known[ops[0].outputs[0]].shape)
    pieces = _Pieces(emitter, run)
    for op in ops:
        value = op.outputs[0]
        if value not in run.inside:
            line(f"    {emitter.local(value)} = {_target(emitter, value)}", None)
    calls = [(pieces.call(op, run.start + i), run.start + i) for i, op in enumerate(ops)]
    for text in pieces.flattened:
        line(f"    {text}", None)
    line("    def part(i, end):", None)
    for text in pieces.scratch:
        line(f"        {text}", None)
    line("        with errstate(all='ignore'):", None)
    line("            while i < end:", None)
    line(f"                j = min(i + {_PIECE}, end)" if len(ops) > 1 else "                j = end", None)
    for texts, position in calls:
        for text in texts:
            line(f"                {text}", position)
    line("                i = j", None)
    line(f"    spread(part, {size})", run.start)


def _target(emitter: Emitter, value: Value) -> str:
    index = emitter.layout.buffer.get(value)
    if index is not None:
        return f"b[{index}]"
    desc = emitter.known[value]
    return f"empty({emitter.shape_name(desc.shape)}, {emitter.name_of(to_numpy(desc.dtype), desc.dtype)})"


class _Pieces:
    """The names of arrays, flat arrays and scratch in the text of one run."""

    def __init__(self, emitter: Emitter, run: Run) -> None:
        self.emitter = emitter
        self.run = run
        self.flattened: list[str] = []
        self.scratch: list[str] = []
        self._flat: dict[Value, str] = {}
        self._held: dict[Value, str] = {}
        self._free: dict[str, list[str]] = {}

    def call(self, op: Operation, position: int) -> list[str]:
        """Return the lines that compute one piece of an op's output."""
        lines: list[str] = []
        arguments = ["None" if value is None else self._piece(value) for value in op.inputs]
        output = op.outputs[0]
        out = self._take(output) if output in self.run.inside else self._piece(output)
        emitter = self.emitter
        opdef: Any = op.opdef
        kernel = emitter.name_of(unquiet(opdef.kernel_out), op.type)
        attrs = [f"{name}={emitter.literal(value, name)}" for name, value in op.attrs.items()]
        lines.append(f"{kernel}({', '.join([*arguments, *attrs, f'out={out}'])})")
        for value in dict.fromkeys((*op.inputs, output)):
            if value is not None and value in self._held and emitter.layout.last.get(value, position) <= position:
                self._give_back(value)
        return lines

    def _piece(self, value: Value) -> str:
        emitter = self.emitter
        if value in self._held:
            return f"{self._held[value]}[:j - i]"
        if emitter.known[value].shape == ():
            return emitter.argument(value)
        constant = emitter.constants.get(value)
        if constant is not None and not any(constant.strides):
            single = constant[(0,) * constant.ndim]
            return emitter.name_of(np.asarray(single), f"one_of_{value.variable.name}")
        name = self._flat.get(value)
        if name is None:
            name = self._flat[value] = f"w{emitter.offset(self.run.start)}_{len(self._flat)}"
            self.flattened.append(f"{name} = flat({emitter.argument(value)})")
        return f"{name}[i:j]"

    def _take(self, value: Value) -> str:
        dtype = self.emitter.known[value].dtype
        free = self._free.setdefault(dtype, [])
        if free:
            name = free.pop()
        else:
            name = f"t{len(self.scratch)}"
            self.scratch.append(f"{name} = empty({_PIECE}, {self.emitter.name_of(to_numpy(dtype), dtype)})")
        self._held[value] = name
        return f"{name}[:j - i]"

    def _give_back(self, value: Value) -> None:
        self._free.setdefault(self.emitter.known[value].dtype, []).append(self._held.pop(value))


# ---- running ---------------------------------------------------------------------------------------------------------
def flat(array: np.ndarray) -> np.ndarray:
    """Return an array of one axis with the elements in C order: a view, or a copy where there is none."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if not any(array.strides):
        return np.broadcast_to(array[(0,) * array.ndim], (array.size,))
    return np.ascontiguousarray(array).reshape(-1)


_pool: list[ThreadPoolExecutor] = []


def _threads() -> int:
    """Return the number of threads to compute with: OMP_NUM_THREADS where it is set, else one per processor."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(count or 1, 8)


def spread(part: Callable[[int, int], None], size: int) -> None:
    """Compute all pieces, over threads where there are several: ``part(first, end)`` computes one stretch."""
    count = _threads()
    if count == 1:
        part(0, size)
        return
    if not _pool:
        _pool.append(ThreadPoolExecutor(max(count - 1, 1), thread_name_prefix="opkit"))
    stretch = -(-size // (count * _PIECE)) * _PIECE
    waiting = [_pool[0].submit(part, first, min(first + stretch, size)) for first in range(stretch, size, stretch)]
    try:
        part(0, min(stretch, size))
    finally:
        for item in waiting:
            item.result()
