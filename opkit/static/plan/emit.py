"""Emit: the text of a plan, as functions of some hundred ops each that work on a list of slots.

The text is deterministic. ``s`` are the slots, ``h`` the places of variables in the scope, ``b`` the buffers; ``vN``
is the N-th Value of the chunk, which lives in slot ``nN`` between chunks. Compiling and running it is
``opkit.static.plan.plan``'s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from sys import getrefcount
from typing import Any

import numpy as np

from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.ops.core.references import OF_LOCAL
from opkit.static.plan.blocks import Run, emit_run, flat, spread
from opkit.static.plan.folding import Like
from opkit.static.plan.layout import Layout
from opkit.static.plan.prune import shape_only
from opkit.static.plan.quiet import quiet_kernel
from opkit.static.plan.sizes import Known
from opkit.static.plan.specialise import specialised
from opkit.static.plan.user_calls import UserCall
from opkit.static.py_func import PyFuncGradDef, label_of

__all__ = ["Chunk", "Emitter", "is_state"]

#: Ops per function: one function of 10,000 ops takes hundreds of megabytes to compile.
_CHUNK = 400
#: Arrays of this many bytes are let go as soon as they were read for the last time.
_LARGE = 1 << 16


def is_state(value: Value) -> bool:
    """Say whether a Value is read from the scope: a variable as it is, or as an op has changed it in place."""
    op = value.producer
    return value.variable.persistable and (op is None or value.index >= len(op.results) or value not in op.results)


@dataclass(slots=True)
class Chunk:
    """One function of a plan.

    Attributes:
        lines: its text; it depends on the chunk's form alone, so that chunks of one form share their code.
        ops: line number -> position of the op.
        namespace: what the text's names mean.
        slots: slot of each local, by the local's number.
    """

    lines: list[str] = field(default_factory=list)
    ops: dict[int, int] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=dict)
    slots: list[int] = field(default_factory=list)


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
        constants: Mapping[Value, np.ndarray],
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
        self.calls: dict[int, UserCall] = {}
        self.namespace: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._locals: dict[Value, int] = {}
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
        chunk = self._current = Chunk(namespace=dict(_NAMESPACE))
        self.chunks.append(chunk)
        self.namespace, self._names, self._locals = chunk.namespace, {}, {}
        self._lines = chunk.lines
        self._loaded = set()
        self._start = start
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
            and quiet_kernel(self._kernel(self.ops[position + count])) is not None
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

        emit_run(self, run, line)
        for op in ops:
            value = op.outputs[0]
            if value not in run.inside:
                self._loaded.add(value)
                self._protect(op, self.local(value), value)
        for op in ops:
            self._free(op, run.end - 1)

    def _load_all(self, ops: Sequence[Operation], end: int) -> None:
        made = {value for op in ops for value in op.outputs}
        for op in ops:
            self._load_inputs(op, end, made)

    def _take_snapshots(self) -> None:
        for value in self.layout.number:
            if value in self.layout.snapshots and is_state(value):
                slot = f"s[{self._slot(value)}]"
                self._line(f"{slot} = h[{self._holder(value)}].array.copy()")
                if value in self.layout.read_by_user:
                    self._line(f"{slot}.setflags(False)")

    def _store(self, start: int, end: int) -> None:
        last = self.layout.last
        for op in self.ops[start:end]:
            for value in op.results:
                if last.get(value, -1) >= end:
                    self._line(f"s[{self._slot(value)}] = {self.local(value)}")

    def _line(self, text: str) -> None:
        self._lines.append(self._indent + text)

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
        name = self.local(value)
        if is_state(value) and value not in self.layout.snapshots:
            self._line(f"{name} = h[{self._holder(value)}].array  # {value.variable.name}")
            if value in self.layout.read_by_user:  # what a user's function sees of it cannot be written to
                self._line(f"u{name[1:]} = {name}.view()")
                self._line(f"u{name[1:]}.setflags(False)")
            return
        slot = f"s[{self._slot(value)}]"
        if value.producer is None:
            self._line(f"{name} = {slot}  # {value.variable.name}")
            return
        self._line(f"{name} = {slot}")
        if self.layout.last[value] < end and self._is_large(value):
            self._line(f"{slot} = None")

    def argument(self, value: Value | None) -> str:
        """Return the name of what holds a Value."""
        if value is None:
            return "None"
        if value in self.constants:
            return self.name_of(self.constants[value], f"c_{value.variable.name}")
        return self.local(value)

    def _argument(self, op: Operation, index: int, idle: Any) -> str:
        value = op.inputs[index]
        if value is not None and value not in self.constants and self._is_idle(index, idle, value):
            return self._like(self.known[value])
        return self.argument(value)

    def _seen(self, op: Operation, index: int, argument: str) -> str:
        """Return the name of what a user's function gets: a view of a variable, which it must not change."""
        value = op.inputs[index]
        if value is not None and is_state(value) and value not in self.layout.snapshots and argument[0] == "v":
            return "u" + argument[1:]
        return argument

    def _like(self, desc: TensorDesc) -> str:
        name = f"like_{desc.dtype}_{'x'.join(map(str, desc.shape)) or '0d'}"
        if name not in self.namespace:
            self.namespace[name] = Like(desc)
        return name

    def _holder(self, value: Value) -> int:
        return self.holders.setdefault(value.variable.name, len(self.holders))

    # ---- ops ---------------------------------------------------------------------------------------------------------
    def _op(self, op: Operation, position: int, end: int, *, is_quiet: bool) -> None:
        opdef: Any = op.opdef
        self._load_inputs(op, end)
        idle = shape_only(op)
        arguments = [self._argument(op, i, idle) for i in range(len(op.inputs))]
        if opdef.is_user:
            self._user_op(op, position, [self._seen(op, i, argument) for i, argument in enumerate(arguments)])
        else:
            self._builtin_op(op, arguments, is_quiet)
        self._loaded.update(op.results)
        for value in op.results:
            if value.variable.persistable:
                self._put(op, value)
        self._free(op, position)

    def _builtin_op(self, op: Operation, arguments: list[str], is_quiet: bool) -> None:
        layout = self.layout
        kernel = self._kernel(op)
        if is_quiet:
            kernel = quiet_kernel(kernel)
        results = op.results
        special = specialised(op, arguments, self.known) if is_quiet and self.is_exact else None
        if special is not None:
            call, arguments = self.name_of(special[0], special[1]), special[2]
        else:
            call = self.name_of(kernel, op.type)
            arguments = arguments + [f"{name}={self.literal(value, name)}" for name, value in op.attrs.items()]
        if len(results) == 1 and results[0] in layout.takes:
            given = self.local(layout.takes[results[0]])
            name = self.local(results[0])
            self._line(f"{name} = {call}({', '.join([*arguments, f'out={given}'])})")
            self._protect(op, name, results[0])
            return
        if len(results) == 1 and results[0] in layout.buffer:
            name = self.local(results[0])
            self._line(f"{name} = b[{layout.buffer[results[0]]}]")
            self._line(f"{call}({', '.join([*arguments, f'out={name}'])})")
            return
        names = [self.local(value) for value in results]
        target = ""
        if names:
            declared = op.opdef.outputs  # type: ignore[attr-defined]
            is_tuple = len(names) > 1 or declared[0].is_variadic
            target = (", ".join(names) + ("," if len(names) == 1 else "") if is_tuple else names[0]) + " = "
        text = f"{call}({', '.join(arguments)})"
        if op.type in _SAME_IF_SAME_SHAPE and self.is_exact and self._keeps_shape(op):
            text = arguments[0]
        if len(names) == 1 and len(op.opdef.outputs) > 1:  # type: ignore[attr-defined]
            text = f"only({text})"
        is_scalar = len(names) == 1 and self.known[results[0]].ndim == 0
        self._line(target + (f"asarray({text})" if is_scalar else text))
        for name, value in zip(names, results):
            if len(names) > 1 and self.known[value].ndim == 0:
                self._line(f"{name} = asarray({name})")
            self._protect(op, name, value)

    def _keeps_shape(self, op: Operation) -> bool:
        given, made = self.known[op.inputs[0]], self.known[op.results[0]]  # type: ignore[index]
        return given.is_static and given == made

    def _protect(self, op: Operation, name: str, value: Value) -> None:
        """Copy what shares memory with a variable that will change; make read-only what a user's function takes."""
        if value in self.layout.snapshots:
            self._line(f"{name} = {name}.copy()")
        elif op.opdef.is_view and value in self.layout.read_by_user:  # type: ignore[attr-defined]
            self._line(f"{name} = {name}.view()")
        if value in self.layout.read_by_user:
            self._line(f"{name}.setflags(False)")

    def _user_op(self, op: Operation, position: int, arguments: list[str]) -> None:
        opdef: Any = op.opdef
        results = op.results
        expected = [self.known[value] for value in results] if self.is_exact else None
        if expected is not None and not all(desc.is_static for desc in expected):
            expected = None
        user_call = self.calls[position] = UserCall(op, position, expected)
        function = getattr(opdef, "function", opdef.kernel)
        first = len(opdef.needed) if isinstance(opdef, PyFuncGradDef) else 0
        passed = arguments[first:] + [f"{name}={self.literal(value, name)}" for name, value in op.attrs.items()]
        text = f"{self.name_of(function, label_of(function))}({', '.join(passed)})"
        site = f"  # {op.site[0]}:{op.site[1]}" if op.site is not None else ""
        everything = "(" + "".join(f"{argument}, " for argument in arguments) + ")"
        settle = f"settle_{position - self._start}"
        is_single = len(results) == 1
        self.namespace[settle] = user_call.settle if is_single else user_call.unpack
        names = [self.local(value) for value in results]
        if is_single:
            self._line(f"{names[0]} = {text}{site}")
            test = self._test(names[0], op, expected, arguments)
            self._line(f"if {test}: {names[0]} = {settle}({names[0]}, {everything})")
        else:
            self._line(f"r = {text}{site}")
            if results:
                self._line(f"{', '.join(names)} = {settle}(r, {everything})")
            else:
                self._line(f"if r is not None: {settle}(r, {everything})")
            self._line("r = None")
        for name, value in zip(names, results):
            if value in self.layout.snapshots:
                self._line(f"{name} = {name}.copy()")
            if value in self.layout.read_by_user:
                self._line(f"{name}.setflags(False)")

    def _test(self, name: str, op: Operation, expected: list[TensorDesc] | None, arguments: list[str]) -> str:
        """Return the condition under which a result is not simply a fresh array of the expected kind."""
        parts = [f"type({name}) is not ndarray"]
        value = op.results[0]
        if expected is not None:
            parts.append(f"{name}.shape != {self.shape_name(expected[0].shape)}")
            parts.append(f"{name}.dtype is not {self.name_of(to_numpy(expected[0].dtype), expected[0].dtype)}")
        elif isinstance(op.opdef, PyFuncGradDef):
            parts.append(f"{name}.shape != {arguments[0]}.shape")
            parts.append(f"{name}.dtype != {arguments[0]}.dtype")
        elif not op.is_warned:
            parts.append(f"{name}.dtype is not {self.name_of(value.dtype, value.dtype.name)}")
            if -1 not in value.shape:
                parts.append(f"{name}.shape != {self.shape_name(value.shape)}")
        parts.append(f"{name}.base is not None")
        parts.append(f"getrefcount({name}) != {OF_LOCAL}")
        return " or ".join(parts)

    def _put(self, op: Operation, value: Value) -> None:
        opdef: Any = op.opdef
        is_shared = opdef.is_user or opdef.is_view or value in self.layout.read_by_user
        name = self.local(value) + (".copy()" if is_shared else "")
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
                    self._line(f"{self.local(value)} = None")
                self._loaded.discard(value)

    def _is_large(self, value: Value) -> bool:
        desc = self.known[value]
        return not desc.is_static or math.prod(desc.shape) * to_numpy(desc.dtype).itemsize >= _LARGE

    # ---- names -------------------------------------------------------------------------------------------------------
    def offset(self, position: int) -> int:
        """Return a position counted from the start of the chunk."""
        return position - self._start

    def local(self, value: Value) -> str:
        """Return the name of the local that holds a Value in this chunk."""
        found = self._locals.get(value)
        if found is None:
            found = self._locals[value] = len(self._locals)
            self._current.slots.append(self.layout.number[value])
        return f"v{found}"

    def _slot(self, value: Value) -> str:
        name = "n" + self.local(value)[1:]
        self.namespace[name] = self.layout.number[value]
        return name

    def _kernel(self, op: Operation) -> Any:
        opdef: Any = op.opdef
        if opdef.is_user:
            return None
        if len(op.results) == 1 and (op.results[0] in self.layout.buffer or op.results[0] in self.layout.takes):
            return opdef.kernel_out
        return opdef.kernel

    def name_of(self, item: Any, hint: str) -> str:
        """Return the name by which the text calls an object."""
        found = self._names.get(id(item))
        if found is None:
            found = base = re.sub(r"\W", "_", hint) or "f"
            if base[0].isdigit() or iskeyword(base) or _LOCAL.fullmatch(base):
                found = base = "_" + base
            count = 1
            while found in self.namespace:
                count += 1
                found = f"{base}_{count}"
            self._names[id(item)] = found
            self._kept.append(item)
            self.namespace[found] = item
        return found

    def literal(self, value: Any, name: str) -> str:
        """Return the text of an attribute's value."""
        if isinstance(value, (bool, str, type(None))) or type(value) is int:
            return repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        if type(value) is tuple and len(value) < 10 and all(type(item) in (int, bool, str) for item in value):
            return repr(value)
        return self.name_of(value, f"attr_{name}")

    def shape_name(self, shape: tuple[int, ...]) -> str:
        """Return the name of a shape."""
        name = "shape_" + ("x".join(map(str, shape)) or "0d")
        self.namespace[name] = shape
        return name


#: Ops that give their first input where its shape is the wanted one already.
_SAME_IF_SAME_SHAPE = frozenset({"reduce_sum_like", "broadcast_like", "broadcast_to", "reshape"})
#: What the text uses as names of locals.
_LOCAL = re.compile(r"[nuvwt]\d+(_\d+)?|[shbrij]|end|part")


def _only(result: Any) -> Any:
    """Return the one result of a kernel that leaves optional ones out."""
    return result[0] if type(result) is tuple else result


#: What every chunk's text may use; ``run`` is the chunk itself.
_NAMESPACE: dict[str, Any] = {
    "asarray": np.asarray,
    "ndarray": np.ndarray,
    "getrefcount": getrefcount,
    "empty": np.empty,
    "errstate": np.errstate,
    "flat": flat,
    "spread": spread,
    "only": _only,
    "run": None,
}
