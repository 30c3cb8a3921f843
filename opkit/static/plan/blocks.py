"""Blocks: the text of a run of elementwise ops, a loop over pieces that fit into a core's cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opkit.ir import Operation, Value, to_numpy
from opkit.static.plan.names import Names
from opkit.static.plan.quiet import unquiet
from opkit.static.plan.runs import PIECE, Run


def emit_run(names: Names, run: Run, ops: Sequence[Operation], line: Callable[[str, int | None], None]) -> None:
    """Write the text of a run.

    Args:
        names: those of the chunk.
        run: what to write.
        ops: its Operations.
        line: takes a line of text and the position of the op that it belongs to.
    """
    size = math.prod(names.known[ops[0].outputs[0]].shape)
    pieces = _Pieces(names, run)
    for op in ops:
        value = op.outputs[0]
        if value not in run.inside:
            line(f"    {names.local(value)} = {_target(names, value)}", None)
    calls = [(pieces.call(op, run.start + i), run.start + i) for i, op in enumerate(ops)]
    for text in pieces.flattened:
        line(f"    {text}", None)
    line("    def part(i, end):", None)
    for text in pieces.scratch:
        line(f"        {text}", None)
    line("        with errstate(all='ignore'):", None)
    line("            while i < end:", None)
    line(f"                j = min(i + {PIECE}, end)" if len(ops) > 1 else "                j = end", None)
    for texts, position in calls:
        for text in texts:
            line(f"                {text}", position)
    line("                i = j", None)
    line(f"    spread(part, {size})", run.start)


def _target(names: Names, value: Value) -> str:
    index = names.layout.buffer.get(value)
    if index is not None:
        return f"b[{index}]"
    desc = names.known[value]
    return f"empty({names.shape_name(desc.shape)}, {names.name_of(to_numpy(desc.dtype), desc.dtype)})"


class _Pieces:
    """The names of arrays, flat arrays and scratch in the text of one run."""

    def __init__(self, names: Names, run: Run) -> None:
        self.names = names
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
        names = self.names
        opdef: Any = op.opdef
        kernel = names.name_of(unquiet(opdef.kernel_out), op.type)
        attrs = [f"{name}={names.literal(value, name)}" for name, value in op.attrs.items()]
        lines.append(f"{kernel}({', '.join([*arguments, *attrs, f'out={out}'])})")
        for value in dict.fromkeys((*op.inputs, output)):
            if value is not None and value in self._held and names.layout.last.get(value, position) <= position:
                self._give_back(value)
        return lines

    def _piece(self, value: Value) -> str:
        names = self.names
        if value in self._held:
            return f"{self._held[value]}[:j - i]"
        if names.known[value].shape == ():
            return names.argument(value)
        constant = names.constants.get(value)
        if constant is not None and not any(constant.strides):
            single = constant[(0,) * constant.ndim]
            return names.name_of(np.asarray(single), f"one_of_{value.variable.name}")
        name = self._flat.get(value)
        if name is None:
            name = self._flat[value] = f"w{names.offset(self.run.start)}_{len(self._flat)}"
            self.flattened.append(f"{name} = flat({names.argument(value)})")
        return f"{name}[i:j]"

    def _take(self, value: Value) -> str:
        dtype = self.names.known[value].dtype
        free = self._free.setdefault(dtype, [])
        if free:
            name = free.pop()
        else:
            name = f"t{len(self.scratch)}"
            self.scratch.append(f"{name} = empty({PIECE}, {self.names.name_of(to_numpy(dtype), dtype)})")
        self._held[value] = name
        return f"{name}[:j - i]"

    def _give_back(self, value: Value) -> None:
        self._free.setdefault(self.names.known[value].dtype, []).append(self._held.pop(value))
