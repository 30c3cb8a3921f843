"""Plan: a program compiled for one set of feeds and fetches, and how it is run.

``opkit.static.executor`` and ``opkit.static.jobs`` choose the plan of a run and decide when one is made.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import CodeType, TracebackType
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, Program, TensorDesc, Value, to_numpy
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.references import OF_LOCAL
from opkit.ops.core.types import Arrays, Attrs
from opkit.settings import current_settings
from opkit.static.builder import note_site
from opkit.static.plan.emit import Emitter
from opkit.static.plan.failures import ForbiddenCallError, TooLargeError, explain_failure, no_source
from opkit.static.plan.interpret import interpret
from opkit.static.plan.layout import is_state, lay_out
from opkit.static.plan.names import Chunk
from opkit.static.plan.prune import fold, prune
from opkit.static.plan.sizes import Known, resolve_sizes
from opkit.static.plan.user_calls import MismatchError, is_own
from opkit.static.scope import Holder

_serials = itertools.count()


def forbidden(opdef: OpDef, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """Replaces ``apply`` while a program runs: functions in it compute with numpy."""
    raise ForbiddenCallError(
        f"a framework function (op {opdef.name!r}) was called inside a Python function while the program runs",
        help="func and backward_func of py_func get numpy arrays and compute with numpy",
    )


class Plan:
    """A compiled program.

    Args:
        program: the program.
        feeds: Values that a run is given, in order.
        fetches: Values that a run returns, in order; None gives None.
        sizes: description of every Value that is fed or held in the scope.
        is_exact: the plan is valid for these sizes only; otherwise for any, without reused buffers.
    """

    def __init__(
        self,
        program: Program,
        feeds: Sequence[Value],
        fetches: Sequence[Value | None],
        sizes: Mapping[Value, TensorDesc],
        *,
        is_exact: bool = True,
    ) -> None:
        self.program = program
        self.feeds = tuple(feeds)
        self.is_exact = is_exact
        #: A user's function gave something else than was assumed: the next runs take a plan for any sizes.
        self.is_outdated = False
        fetched = [value for value in fetches if value is not None]
        self.every = prune(program.blocks[0].ops, fetched)
        self.known, ops, self.constants = _settle(self.every, sizes, is_exact=is_exact, is_guessed=is_exact)
        known = self.known
        for value in fetched:
            known.setdefault(value, value.desc)
        self.ops: Sequence[Operation] = prune(ops, fetched, lambda value: is_exact and known[value].is_static)
        read = [value for value in fetched if value not in self.constants]
        self.layout = lay_out(self.ops, read, known, self.constants, is_exact=is_exact)
        self.read_names = {value.variable.name for value in self.layout.number if is_state(value)}
        self._check_sources(fetches)
        self._compile(known, fetches)
        self._fetches = [self._fetch(value) for value in fetches]
        number = self.layout.number
        self._feed_slots = [
            (i, number[value], value in self.layout.read_by_user)
            for i, value in enumerate(self.feeds)
            if value in number
        ]
        self._arenas: list[list[ndarray]] = []
        self._width = len(number)

    # ---- making ------------------------------------------------------------------------------------------------------
    def _check_sources(self, fetches: Sequence[Value | None]) -> None:
        fed = set(self.feeds)
        made = {value for op in self.ops for value in op.outputs}
        for op in self.ops:
            for value in op.inputs:
                if value is None or value in made or value in fed or value in self.constants:
                    continue
                if value not in self.layout.number or is_state(value):
                    continue
                error = no_source(value, self.feeds)
                note_site(error, op.label or op.type, op.site)
                raise error
        self._unwritten = {
            value
            for value in fetches
            if value is not None
            and value not in made
            and value not in fed
            and value not in self.constants
            and not is_state(value)
        }
        for value in self._unwritten:
            if value.variable.is_data:
                raise no_source(value, self.feeds)

    def _compile(self, known: Mapping[Value, TensorDesc], fetches: Sequence[Value | None]) -> None:
        self.holders: dict[str, int] = {}
        emitter = Emitter(self.ops, dict(known), self.constants, self.layout, self.holders, is_exact=self.is_exact)
        emitter.emit()
        self._parts = emitter.chunks
        self._chunks: list[Callable[..., None]] = []
        self._files: list[str] = []
        codes: dict[str, CodeType] = {}
        serial = next(_serials)
        for index, part in enumerate(emitter.chunks):
            text = "\n".join(part.lines) + "\n"
            code = codes.get(text)
            if code is None:
                name = f"<opkit plan {serial} part {index}>"
                code = codes[text] = compile(text, name, "exec")
                linecache.cache[name] = (len(text), None, text.splitlines(True), name)
                self._files.append(name)
            part.namespace["__part__"] = index
            exec(code, part.namespace)
            self._chunks.append(part.namespace["run"])
        self._tell(fetches)
        for part in emitter.chunks:
            part.lines.clear()

    def _tell(self, fetches: Sequence[Value | None]) -> None:
        """Pass the plan's text to the functions in the settings that want it."""
        asked = current_settings()
        if asked.on_plan is None and asked.on_compiled is None:
            return
        text = "".join([self._title(), *("\n".join(part.lines) + "\n" for part in self._parts)])
        if asked.on_plan is not None:
            asked.on_plan(text)
        if asked.on_compiled is not None:
            asked.on_compiled(self, fetches, text)

    def _title(self) -> str:
        fed = ", ".join(value.variable.name for value in self.feeds)
        sizes = "these sizes" if self.is_exact else "any sizes"
        alive = f" ({self.layout.alive} in use at once)" if self.layout.size else ""
        counts = (
            _counted(len(self.ops), "op"),
            _counted(len(self.constants), "constant"),
            f"{_counted(len(self.layout.buffers), 'buffer')} in {_counted(self.layout.size, 'byte')}{alive}",
        )
        return f"# plan: {', '.join(counts)}, fed {fed or 'nothing'}, for {sizes}\n"

    def _fetch(self, value: Value | None) -> tuple[str, Any]:
        if value is None or value in self._unwritten:
            return "none", None
        if value in self.constants:
            return "copy", value
        if is_state(value) and value not in self.layout.snapshots:
            return "state", self.holders.setdefault(value.variable.name, len(self.holders))
        return "slot", self.layout.number[value]

    def forget(self) -> None:
        """Drop the plan's buffers and its text."""
        self._arenas.clear()
        for name in self._files:
            linecache.cache.pop(name, None)

    def _new_arena(self) -> list[ndarray]:
        try:
            memory = np.empty(max(self.layout.size, 1), np.uint8).data
        except (MemoryError, ValueError) as error:  # numpy's word for a size beyond 64 bits is ValueError
            size = self.layout.size / 2**30
            raise TooLargeError(
                f"the program needs {size:.1f} GiB for its intermediate results, which is more memory than there is",
                help="feed smaller arrays, or look for the op that enlarges them: print the program",
            ) from error
        return [
            ndarray(desc.shape, to_numpy(desc.dtype), buffer=memory, offset=offset)
            for offset, desc in self.layout.buffers
        ]

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self, arrays: Arrays, holders: Sequence[Holder]) -> list[Any]:
        """Run the program once.

        Args:
            arrays: what is fed, in the order of ``feeds``; it has the sizes that the plan was made for.
            holders: the places of the variables, in the order of ``self.holders``.

        Returns:
            One array per fetch, the caller's own.

        Raises:
            Exception: whatever a user's function raises; a note names the op and the line that added it.
        """
        slots: list[Any] = [None] * self._width
        for i, number, is_seen in self._feed_slots:
            array = arrays[i]
            if is_seen:
                array = array.view()
                array.setflags(False)
            slots[number] = array
        mode = local.mode
        held = mode.apply
        running = self.program.running
        running.append(1)
        mode.apply = forbidden
        arena = None
        try:
            if mode.observers:
                constants = interpret(self, None, slots, holders)
            else:
                constants = self.constants
                arena = self._arenas.pop() if self._arenas else self._new_arena()
                for chunk in self._chunks:
                    chunk(slots, holders, arena)
        except MismatchError as mismatch:
            self.is_outdated = True
            self._recover(mismatch, slots)
            arena = None  # its arrays are still read by the rest of this run
            mismatch.__traceback__ = None
            constants = interpret(self, self.ops[mismatch.position], slots, holders)
        except Exception as error:
            self._explain(error)
            raise
        finally:
            mode.apply = held
            running.pop()
            if arena is not None:
                self._arenas.append(arena)
        return self._fetched(slots, arrays, holders, constants)

    def _fetched(
        self, slots: list[Any], arrays: Arrays, holders: Sequence[Holder], constants: Mapping[Value, ndarray]
    ) -> list[Any]:
        found: list[Any] = []
        for kind, item in self._fetches:
            if kind == "slot":
                array = slots[item]
                slots[item] = None
                if array is None:  # fetched twice, or fed
                    array = self._again(item, found, arrays)
                if getrefcount(array) == OF_LOCAL and is_own(array):
                    if not array.flags.writeable:
                        array.setflags(True)
                else:
                    array = array.copy()
                found.append(array)
            elif kind == "state":
                found.append(holders[item].array.copy())
            else:
                found.append(None if item is None else constants[item].copy())
        return found

    def _again(self, number: int, found: list[Any], arrays: Arrays) -> ndarray:
        for (_, item), array in zip(self._fetches, found):
            if item == number:
                return array  # type: ignore[no-any-return]
        raise AssertionError(f"slot {number} of the plan is empty")

    def _recover(self, mismatch: MismatchError, slots: list[Any]) -> None:
        """Put what the interrupted text held into the slots."""
        found = self._frame(mismatch.__traceback__)
        if found is not None:
            part, held, _ = found
            for name, item in held.items():
                if name[0] == "v" and name[1:].isdigit() and item is not None:
                    slots[part.slots[int(name[1:])]] = item
        for value, array in zip(self.ops[mismatch.position].results, mismatch.results):
            if value in self.layout.read_by_user:
                array.setflags(write=False)
            slots[self.layout.number[value]] = array

    def _frame(self, trace: TracebackType | None) -> tuple[Chunk, dict[str, Any], int] | None:
        """Return the part that was running, its locals, and the position of the op."""
        found: tuple[Chunk, dict[str, Any], int] | None = None
        while trace is not None:
            names = trace.tb_frame.f_globals
            index = names.get("__part__", -1)
            if 0 <= index < len(self._parts) and self._parts[index].namespace is names:
                part = self._parts[index]
                position = part.ops.get(trace.tb_lineno, -1)
                if found is None:
                    found = part, trace.tb_frame.f_locals, position
                elif position >= 0:  # a piece of a run of ops
                    found = found[0], found[1], position
            trace = trace.tb_next
        return found

    def _explain(self, error: Exception) -> None:
        found = self._frame(error.__traceback__)
        if found is None or found[2] < 0:
            return
        explain_failure(error, self.ops[found[2]])


def _settle(
    every: Sequence[Operation], sizes: Mapping[Value, TensorDesc], *, is_exact: bool, is_guessed: bool
) -> tuple[Known, list[Operation], Mapping[Value, ndarray]]:
    """Return the descriptions of all Values, the Operations that remain, and the constants.

    Where an op refuses the sizes, nothing is guessed about users' functions: a guess may be what it refuses.
    """
    try:
        known = resolve_sizes(every, sizes, is_exact=is_exact, is_guessed=is_guessed)
        return known, *fold(every, known, is_exact)
    except Exception:
        if not is_guessed:
            raise
    return _settle(every, sizes, is_exact=is_exact, is_guessed=False)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


#: The public name of making a plan.
compile_plan = Plan
