"""Emit: the text of a plan, as functions of some hundred ops each that work on a list of slots.

The text is deterministic. ``s`` are the slots, ``h`` the places of variables in the scope, ``b`` the buffers; ``vN``
is the N-th Value of the chunk, which lives in slot ``nN`` between chunks. Compiling and running it is
``opkit.static.plan.plan``'s.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy import ndarray

from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.static.plan.blocks import emit_run
from opkit.static.plan.builtin_text import builtin_text, kernel_of, protection, user_text
from opkit.static.plan.layout import Layout, is_state
from opkit.static.plan.names import Chunk, Names
from opkit.static.plan.prune import shape_only
from opkit.static.plan.quiet import quiet_kernel
from opkit.static.plan.runs import Run
from opkit.static.plan.sizes import Known
from opkit.static.plan.user_calls import PlannedCall

#: Ops per function: one function of 10,000 ops takes hundreds of megabytes to compile.
_CHUNK = 400
#: Arrays of this many bytes are let go as soon as they were read for the last time.
_LARGE = 1 << 16


class Emitter:
    """Writes the text of one plan.

    Args:
        ops: what is run, in order.
        known: descriptions of the Values.
        constants: Values that the plan holds.
        layout: where all others live.
        holders: index of each variable's place in ``h``, by name.
        is_exact: the descriptions hold in the run (a guess about a user's function is checked).
    """

    def __init__(
        self,
        ops: Sequence[Operation],
        known: Known,
        constants: Mapping[Value, ndarray],
        layout: Layout,
        holders: dict[str, int],
        *,
        is_exact: bool,
    ) -> None:
        self.ops = ops
        self.known = known
        self.constants = constants
        self.layout = layout
        self.holders = holders
        self.is_exact = is_exact
        self.chunks: list[Chunk] = []
        self._loaded: set[Value] = set()
        self._indent = "    "

    def emit(self) -> None:
        """Write all chunks."""
        runs = {run.start: run for run in self.layout.runs}
        inside = {position for run in self.layout.runs for position in range(run.start + 1, run.end)}
        start = 0
        while start < len(self.ops):
            end = min(start + _CHUNK, len(self.ops))
            while end in inside:
                end += 1
            self._chunk(start, end, runs)
            start = end

    # ---- one chunk ---------------------------------------------------------------------------------------------------
    def _chunk(self, start: int, end: int, runs: Mapping[int, Run]) -> None:
        chunk = Chunk()
        self.chunks.append(chunk)
        self._names = Names(chunk, start, self.known, self.constants, self.layout)
        self._lines = chunk.lines
        self._loaded = set()
        self._lines.append("def run(s, h, b):")
        if start == 0:
            self._take_snapshots()
        position = start
        while position < end:
            run = runs.get(position)
            if run is not None:
                self._run(run, chunk, end)
                position = run.end
                continue
            count = self._quiet_count(position, end, runs)
            if count > 1:
                self._load_all(self.ops[position : position + count], end)
                self._line("with errstate(all='ignore'):")
                self._indent = "        "
            for index in range(position, position + count):
                first = len(self._lines)
                self._op(self.ops[index], index, end, is_quiet=count > 1)
                for line in range(first, len(self._lines)):
                    chunk.ops[line + 1] = index
            self._indent = "    "
            position += count
        self._store(start, end)
        if len(self._lines) == 1:
            self._line("pass")

    def _quiet_count(self, position: int, end: int, runs: Mapping[int, Run]) -> int:
        """Return how many ops from here on are quiet built-in ones; at least 1."""
        count = 0
        while (
            position + count < end
            and position + count not in runs
            and quiet_kernel(kernel_of(self.ops[position + count], self.layout)) is not None
        ):
            count += 1
        return max(count, 1)

    def _run(self, run: Run, chunk: Chunk, end: int) -> None:
        """Write a run of elementwise ops that is computed piece by piece."""
        ops = self.ops[run.start : run.end]
        self._load_all(ops, end)

        def line(text: str, position: int | None) -> None:
            self._lines.append(text)
            if position is not None:
                chunk.ops[len(self._lines)] = position

        emit_run(self._names, run, ops, line)
        for op in ops:
            value = op.outputs[0]
            if value not in run.inside:
                self._loaded.add(value)
                self._write(protection(op, self._names.local(value), value, self.layout))
        for op in ops:
            self._free(op, run.end - 1)

    def _load_all(self, ops: Sequence[Operation], end: int) -> None:
        made = {value for op in ops for value in op.outputs}
        for op in ops:
            self._load_inputs(op, end, made)

    def _take_snapshots(self) -> None:
        for value in self.layout.number:
            if value in self.layout.snapshots and is_state(value):
                slot = self._names.slot(value)
                self._line(f"{slot} = h[{self._holder(value)}].array.copy()")
                if value in self.layout.read_by_user:
                    self._line(f"{slot}.setflags(False)")

    def _store(self, start: int, end: int) -> None:
        last = self.layout.last
        for op in self.ops[start:end]:
            for value in op.results:
                if last.get(value, -1) >= end:
                    self._line(f"{self._names.slot(value)} = {self._names.local(value)}")

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def _write(self, lines: Sequence[str]) -> None:
        for text in lines:
            self._line(text)

    # ---- inputs ------------------------------------------------------------------------------------------------------
    def _load_inputs(self, op: Operation, end: int, but: Collection[Value] = ()) -> None:
        idle = shape_only(op)
        for index, value in enumerate(op.inputs):
            if value is not None and value not in but and not self._is_idle(index, idle, value):
                self._load(value, end)

    def _is_idle(self, index: int, idle: Any, value: Value) -> bool:
        return index in idle and self.is_exact and self.known[value].is_static

    def _load(self, value: Value, end: int) -> None:
        if value in self._loaded or value in self.constants:
            return
        self._loaded.add(value)
        name = self._names.local(value)
        if is_state(value) and value not in self.layout.snapshots:
            self._line(f"{name} = h[{self._holder(value)}].array  # {value.variable.name}")
            if value in self.layout.read_by_user:  # what a user's function sees of it cannot be written to
                self._line(f"u{name[1:]} = {name}.view()")
                self._line(f"u{name[1:]}.setflags(False)")
            return
        slot = self._names.slot(value)
        if value.producer is None:
            self._line(f"{name} = {slot}  # {value.variable.name}")
            return
        self._line(f"{name} = {slot}")
        if self.layout.last[value] < end and self._is_large(value):
            self._line(f"{slot} = None")

    def _argument(self, op: Operation, index: int, idle: Any) -> str:
        value = op.inputs[index]
        if value is not None and value not in self.constants and self._is_idle(index, idle, value):
            return self._names.like(self.known[value])
        return self._names.argument(value)

    def _seen(self, op: Operation, index: int, argument: str) -> str:
        """Return the name of what a user's function gets: a view of a variable, which it must not change."""
        value = op.inputs[index]
        if value is not None and is_state(value) and value not in self.layout.snapshots and argument[0] == "v":
            return "u" + argument[1:]
        return argument

    def _holder(self, value: Value) -> int:
        return self.holders.setdefault(value.variable.name, len(self.holders))

    # ---- ops ---------------------------------------------------------------------------------------------------------
    def _op(self, op: Operation, position: int, end: int, *, is_quiet: bool) -> None:
        opdef: Any = op.opdef
        self._load_inputs(op, end)
        idle = shape_only(op)
        arguments = [self._argument(op, i, idle) for i in range(len(op.inputs))]
        if opdef.is_user:
            seen = [self._seen(op, i, argument) for i, argument in enumerate(arguments)]
            self._write(user_text(self._names, PlannedCall(op, position, self._expected(op)), seen))
        else:
            self._write(builtin_text(self._names, op, arguments, is_quiet=is_quiet, is_exact=self.is_exact))
        self._loaded.update(op.results)
        for value in op.results:
            if value.variable.persistable:
                self._put(op, value)
        self._free(op, position)

    def _expected(self, op: Operation) -> list[TensorDesc] | None:
        """Return what a user's function must return for the plan to be valid, None where anything is allowed."""
        return [self.known[value] for value in op.results] if self.is_exact else None

    def _put(self, op: Operation, value: Value) -> None:
        opdef: Any = op.opdef
        is_shared = opdef.is_user or opdef.is_view or value in self.layout.read_by_user
        name = self._names.local(value) + (".copy()" if is_shared else "")
        self._line(f"h[{self._holder(value)}].put({name})  # {value.variable.name}")

    def _free(self, op: Operation, position: int) -> None:
        layout = self.layout
        done: set[Value] = set()
        for value in (*op.inputs, *op.results):
            if value is None or value in done or value not in self._loaded:
                continue
            done.add(value)
            if layout.last.get(value, position) <= position and value not in layout.buffer and self._is_large(value):
                if not is_state(value) or value in layout.snapshots:
                    self._line(f"{self._names.local(value)} = None")
                self._loaded.discard(value)

    def _is_large(self, value: Value) -> bool:
        desc = self.known[value]
        return not desc.is_static or math.prod(desc.shape) * to_numpy(desc.dtype).itemsize >= _LARGE
