"""Layout: where a plan holds its Values, and for how long; which buffers are reused.

It decides by liveness and by what else may refer to an array; the text of the plan is ``opkit.static.plan.emit``'s.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from heapq import heappush, heapreplace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.record import mutable
from opkit.static.plan.prune import shape_only
from opkit.static.plan.quiet import unquiet
from opkit.static.plan.runs import Run, find_runs
from opkit.static.plan.sizes import Known

#: Buffers start at multiples of this, a line of the cache.
_LINE = 64
#: Of more results than this the best places take seconds to find.
_MANY = 2000
#: The position after the last op: a Value that is fetched lives until there.
_END = 1 << 60


def is_state(value: Value) -> bool:
    """Return whether a Value is read from the scope: a variable as it is, or as an op has changed it in place."""
    op = value.producer
    return value.variable.persistable and (op is None or value.index >= len(op.results) or value not in op.results)


@mutable
class Layout:
    """Where the Values of a plan live.

    Attributes:
        number: of each Value; it names its local in the plan's text and its slot.
        last: position of the last op that reads a Value itself (not what shares its memory).
        buffer: index of the buffer that a Value is computed into, for those that have one.
        buffers: per buffer, the offset into the plan's memory, and its description.
        size: bytes of that memory.
        alive: the most bytes of buffers that are in use at once: no layout of this order needs less.
        read_by_user: Values that a user's function takes.
        runs: elementwise ops that are computed piece by piece.
        takes: results that are computed in place of an operand.
        snapshots: Values that share memory with a variable that changes while they are still read: they are copied.
    """

    number: dict[Value, int] = field(default_factory=dict)
    last: dict[Value, int] = field(default_factory=dict)
    buffer: dict[Value, int] = field(default_factory=dict)
    buffers: list[tuple[int, TensorDesc]] = field(default_factory=list)
    size: int = 0
    alive: int = 0
    read_by_user: set[Value] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    takes: dict[Value, Value] = field(default_factory=dict)
    snapshots: set[Value] = field(default_factory=set)


def lay_out(
    ops: Sequence[Operation],
    fetched: Sequence[Value],
    known: Known,
    constants: Mapping[Value, ndarray],
    *,
    is_exact: bool,
) -> Layout:
    """Decide where the Values live.

    Args:
        ops: what the plan runs, in order.
        fetched: Values that are fetched.
        known: descriptions of the Values.
        constants: Values that are not computed in a run.
        is_exact: the descriptions will hold in the run; without it no buffer is reused.
    """
    layout = Layout()
    groups = _Groups()
    produced: dict[Value, int] = {}
    for position, op in enumerate(ops):
        _enter(layout, op, position, produced, known, constants, is_exact)
        _share(groups, op, constants)
    for value in fetched:
        layout.last[value] = _END
        if value not in layout.number:
            layout.number[value] = len(layout.number)
    until = groups.ends(layout.last)
    _find_snapshots(layout, ops, groups, produced)
    if is_exact:
        layout.runs = find_runs(ops, known, constants, layout.last)
        _assign_buffers(layout, ops, fetched, groups, until, known)
    return layout


def _enter(
    layout: Layout,
    op: Operation,
    position: int,
    produced: dict[Value, int],
    known: Known,
    constants: Mapping[Value, ndarray],
    is_exact: bool,
) -> None:
    number = layout.number
    opdef: Any = op.opdef
    idle = shape_only(op)
    for index, value in enumerate(op.inputs):
        if value is None or value in constants or (index in idle and is_exact and known[value].is_static):
            continue
        if value not in number:
            number[value] = len(number)
        layout.last[value] = position
        if opdef.is_user:
            layout.read_by_user.add(value)
    for value in op.outputs:
        number[value] = len(number)
        produced[value] = position


class _Groups:
    """Values that may share memory: a union-find."""

    def __init__(self) -> None:
        self._parent: dict[Value, Value] = {}
        self._joined: set[Value] = set()

    def is_single(self, value: Value) -> bool:
        """Return whether nothing else shares memory with a Value."""
        return value not in self._joined

    def find(self, value: Value) -> Value:
        parent = self._parent
        root = value
        while (up := parent.get(root, root)) is not root:
            root = up
        while (up := parent.get(value, value)) is not root:
            parent[value] = root
            value = up
        return root

    def join(self, first: Value, second: Value) -> None:
        self._joined.update((first, second))
        left, right = self.find(first), self.find(second)
        if left is not right:
            self._parent[right] = left

    def ends(self, last: Mapping[Value, int]) -> dict[Value, int]:
        """Return, per group, the last position at which one of its Values is read."""
        ends: dict[Value, int] = {}
        for value, position in last.items():
            root = self.find(value)
            ends[root] = max(ends.get(root, -1), position)
        return ends


def _share(groups: _Groups, op: Operation, constants: Mapping[Value, ndarray]) -> None:
    opdef: Any = op.opdef
    if opdef.is_view or opdef.is_user:
        for output in op.results:
            for value in op.inputs:
                if value is not None and value not in constants:
                    groups.join(value, output)


def _find_snapshots(layout: Layout, ops: Sequence[Operation], groups: _Groups, produced: Mapping[Value, int]) -> None:
    """Find what is read after the variable whose memory it shares was changed in place."""
    changed: dict[str, list[int]] = {}
    for position, op in enumerate(ops):
        for index in op.writes:
            changed.setdefault(op.inputs[index].variable.name, []).append(position)  # type: ignore[union-attr]
    if not changed:
        return
    owners: dict[Value, str] = {}
    for value in layout.number:
        if value.variable.persistable:
            owners[groups.find(value)] = value.variable.name
    for value in layout.number:
        name = owners.get(groups.find(value))
        if name in changed and not _is_newest(value, name):
            start = produced.get(value, -1)
            if any(start < position < layout.last.get(value, -1) for position in changed[name]):
                layout.snapshots.add(value)


def _is_newest(value: Value, name: str) -> bool:
    # The variable itself, fetched by name at the end, is meant to show every change.
    return value.variable.name == name and value.variable.value is value


def _assign_buffers(
    layout: Layout,
    ops: Sequence[Operation],
    fetched: Sequence[Value],
    groups: _Groups,
    until: Mapping[Value, int],
    known: Known,
) -> None:
    """Assign buffers to results of built-in ops, reusing those whose last reader has run."""
    barred = {groups.find(value) for value in (*fetched, *layout.read_by_user)}
    for op in ops:
        if op.opdef.is_user:  # type: ignore[attr-defined]
            barred.update(groups.find(value) for value in op.outputs)
    pieces = {value for run in layout.runs for value in run.inside}
    _find_takes(layout, ops, groups, until, known, barred)
    kept = _fresh(layout, groups, barred)
    run_ends = {position: run.end - 1 for run in layout.runs for position in range(run.start, run.end)}
    stays: dict[Value, _Stay] = {}
    for position, op in enumerate(ops):
        value = _buffered(op, known)
        if value is None or value in pieces or value in kept or groups.find(value) in barred:
            continue
        end = max(until.get(groups.find(value), position), position)
        given = layout.takes.get(value)
        if given is None:
            stays[value] = _Stay(position, end, run_ends.get(end, end), _bytes_of(known[value]), [value])
        elif given in stays:  # else it takes memory that is made again in every run
            stay = stays[value] = stays[given]
            stay.end, stay.after = end, run_ends.get(end, end)
            stay.values.append(value)
    own = [stay for value, stay in stays.items() if value is stay.values[0]]
    layout.alive = _most_alive(own)
    layout.size = _place(own, layout.alive)
    views: dict[tuple[int, TensorDesc], int] = {}
    for value, stay in stays.items():
        layout.buffer[value] = views.setdefault((stay.offset, known[value]), len(views))
    layout.buffers = list(views)


def _most_alive(stays: Sequence[_Stay]) -> int:
    changes = sorted(change for stay in stays for change in ((stay.start, stay.size), (stay.end + 0.5, -stay.size)))
    return max(accumulate(change for _, change in changes), default=0)


def _find_takes(
    layout: Layout,
    ops: Sequence[Operation],
    groups: _Groups,
    until: Mapping[Value, int],
    known: Known,
    barred: set[Value],
) -> None:
    """Find results of numpy's elementwise functions that can use the memory of an operand not read afterwards."""
    in_runs = {position for run in layout.runs for position in range(run.start, run.end)}
    made: set[Value] = set()
    for position, op in enumerate(ops):
        opdef: Any = op.opdef
        if (
            position not in in_runs
            and not opdef.is_user
            and opdef.is_elementwise
            and isinstance(unquiet(opdef.kernel_out), np.ufunc)
            and len(op.outputs) == 1
            and not op.outputs[0].variable.persistable
        ):
            output = op.outputs[0]
            for value in op.inputs:
                if (
                    value in made
                    and known[value] == known[output]
                    and known[value].ndim > 0
                    and until.get(groups.find(value)) == position
                    and groups.is_single(value)
                    and value not in barred
                ):
                    layout.takes[output] = value
                    break
        if position not in in_runs and not opdef.is_user and not opdef.is_view and len(op.results) == 1:
            made.update(op.results)


def _fresh(layout: Layout, groups: _Groups, barred: set[Value]) -> set[Value]:
    """Return the Values whose memory leaves the plan, so that it must be new in every run."""
    kept: set[Value] = set()
    for output in reversed(list(layout.takes)):
        if output in kept or groups.find(output) in barred:
            kept.add(layout.takes[output])
    return kept


@mutable
class _Stay:
    """How long bytes of the plan's memory are in use, for which Values, and where they lie.

    Ops of a run go through their operands piece by piece: what one of them has read the next may overwrite where both
    begin and end at the same bytes. Others find them in use until the run's end, ``after``.
    """

    start: int
    end: int
    after: int
    size: int
    values: list[Value]
    offset: int = 0

    def meets(self, others: Sequence[_Stay], *, is_exact: bool) -> bool:
        """Return whether one of others, which lie at the same bytes in turn, is there meanwhile.

        Args:
            others: in the order of their starts.
            is_exact: this one would begin and end where they do.
        """
        index = bisect_right(others, self.after, key=lambda other: other.start)
        while index and others[index - 1].after >= self.start:
            index -= 1
            if not is_exact or (others[index].start <= self.end and self.start <= others[index].end):
                return True
        return False


#: In which orders stays are placed: the best result counts.
_ORDERS: tuple[Callable[[_Stay], Any], ...] = (
    lambda stay: -stay.size,
    lambda stay: -stay.size * (stay.end - stay.start),
    lambda stay: stay.start - stay.end,
    lambda stay: stay.start,
    lambda stay: -stay.end,
)


def _place(stays: Sequence[_Stay], least: int) -> int:
    """Give every stay its bytes, and return how many there are in all; ``least`` is the best that can be."""
    if len(stays) > _MANY:
        return _place_in_turn(stays)
    best = (math.inf, [0])
    for order in _ORDERS:
        total = _place_lowest(sorted(stays, key=order))
        best = min(best, (total, [stay.offset for stay in stays]))
        if total == least:
            break
    for stay, offset in zip(stays, best[1]):
        stay.offset = offset
    return int(best[0]) if stays else 0


def _place_lowest(stays: Sequence[_Stay]) -> int:
    """Give each stay the lowest bytes that are free meanwhile, and return how many there are in all."""
    rows: dict[tuple[int, int], list[_Stay]] = {}
    for stay in stays:
        stay.offset, moved = 0, True
        while moved:
            moved = False
            for (offset, size), others in rows.items():
                if stay.offset < offset + size and offset < stay.offset + stay.size:
                    is_exact = (offset, size) == (stay.offset, stay.size)
                    if stay.meets(others, is_exact=is_exact):
                        stay.offset, moved = offset + size, True
        insort(rows.setdefault((stay.offset, stay.size), []), stay, key=lambda stay: stay.start)
    return max((offset + size for offset, size in rows), default=0)


def _place_in_turn(stays: Sequence[_Stay]) -> int:
    """Let stays of one size follow each other, in the order of their starts: more memory, and time that is linear."""
    total, held = 0, dict[int, list[tuple[int, int]]]()
    for stay in stays:
        ends = held.setdefault(stay.size, [])
        if ends and ends[0][0] < stay.start:
            stay.offset = ends[0][1]
            heapreplace(ends, (stay.end, stay.offset))
        else:
            stay.offset, total = total, total + stay.size
            heappush(ends, (stay.end, stay.offset))
    return total


def _bytes_of(desc: TensorDesc) -> int:
    return -(-math.prod(desc.shape) * to_numpy(desc.dtype).itemsize // _LINE) * _LINE


def _buffered(op: Operation, known: Known) -> Value | None:
    """Return the Value that can be computed into a buffer, None where there is none."""
    opdef: Any = op.opdef
    if opdef.kernel_out is None or opdef.is_user or len(op.outputs) != 1 or op.outputs[0].variable.persistable:
        return None
    value = op.outputs[0]
    desc = known[value]
    return value if desc.is_static and to_numpy(desc.dtype).kind in "biufc" else None
