"""Stages: the order in which devices compute and exchange: all that needs no exchange runs at once, then all exchanges.

Between two stages every value that a device lacks, or has in another way, is brought there. What is computed how is
``choice``'s to say, and by whom the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from opkit.distribute.choice import Choice, Chosen
from opkit.distribute.fabric import Fabric
from opkit.distribute.way import MIRRORED, WHOLE_ON_HOST, Lay
from opkit.ir import Value
from opkit.record import mutable, record
from opkit.static.plan.layout import is_state
from opkit.static.plan.prune import has_effect, shape_only


@record
class Change:
    """A value that is made to lie in another way.

    Args:
        value: the Value.
        source: how it lies.
        target: how it is to lie.
    """

    value: Value
    source: Lay
    target: Lay


@record
class Need:
    """What an op reads.

    Args:
        value: the Value.
        lay: how it must lie.
        is_held: it is a variable that is where it is needed.
        is_idle: only its shape is read.
    """

    value: Value
    lay: Lay
    is_held: bool
    is_idle: bool


@mutable
class Stage:
    """One step of all devices.

    Args:
        changes: what is exchanged before.
        ops: what is computed then, in program order.
    """

    changes: list[Change] = field(default_factory=list)
    ops: list[Chosen] = field(default_factory=list)


def needs_of(chosen: Chosen, choice: Choice, fabric: Fabric) -> Iterator[Need | None]:
    """Yield what each input of an op reads, None for one left out."""
    idle = shape_only(chosen.op)
    for index, value in enumerate(chosen.op.inputs):
        if value is None:
            yield None
            continue
        lay = chosen.lay(index)
        is_held = is_state(value) and (fabric.shares_memory or choice.homes[value.variable.name] == lay)
        yield Need(value, lay, is_held, index in idle)


def final_lay(source: Lay | None) -> Lay:
    """Return how a result of the job must lie: whole in the script's process, or as each device has it in that view."""
    return source if source is not None and source.sbp == MIRRORED else WHOLE_ON_HOST


def stages_of(choice: Choice, outputs: Sequence[Value], fabric: Fabric) -> list[Stage]:
    """Return the stages of a program; the last one only brings the results to the script's process."""
    return _Levels(choice, fabric).run(outputs)


class _Levels:
    """Gives each op the first stage in which all that it reads can be there."""

    def __init__(self, choice: Choice, fabric: Fabric) -> None:
        self._choice = choice
        self._fabric = fabric
        self._stages: list[Stage] = []
        self._made: dict[Value, int] = {}
        self._there: dict[tuple[Value, Lay], int] = {}
        self._written: dict[str, tuple[int, Lay]] = {}
        self._read: dict[str, list[tuple[int, Lay]]] = {}
        self._effect = 0

    def run(self, outputs: Sequence[Value]) -> list[Stage]:
        for chosen in self._choice.ops:
            needs = list(needs_of(chosen, self._choice, self._fabric))
            level = self._level(chosen, needs)
            self._stage(level).ops.append(chosen)
            self._enter(chosen, needs, level)
        last = len(self._stages)
        for value in dict.fromkeys(outputs):
            if not (is_state(value) and self._fabric.shares_memory):
                self._bring(value, final_lay(self._choice.lays.get(value)), last)
        return [stage for stage in self._stages if stage.ops or stage.changes]

    def _stage(self, level: int) -> Stage:
        while len(self._stages) <= level:
            self._stages.append(Stage())
        return self._stages[level]

    def _level(self, chosen: Chosen, needs: Sequence[Need | None]) -> int:
        level = 0
        for need in needs:
            if need is not None and not need.is_idle:
                level = max(level, self._ready(need))
        for index in chosen.op.writes:
            value = chosen.op.inputs[index]
            if value is not None:
                level = max(level, self._free(value.variable.name, chosen.lay(index)))
        if has_effect(chosen.op) and not chosen.op.writes:
            level = max(level, self._effect)
        return level

    def _ready(self, need: Need) -> int:
        """Return the first stage in which what an op reads can be there."""
        value, lay = need.value, need.lay
        if is_state(value):
            level, written = self._written.get(value.variable.name, (-1, lay))
            is_same = written == lay
            return max(level, 0) if is_same and need.is_held else level + 1
        made = self._made.get(value, -1)
        return max(made, 0) if self._choice.lays[value] == lay else made + 1

    def _free(self, name: str, lay: Lay) -> int:
        """Return the first stage in which a variable may be changed: all that read it before have done so.

        What reads it on the same device as the same array does so in program order.
        """
        readers = self._read.get(name, [])
        if not self._fabric.shares_memory:
            return max((level for level, _ in readers), default=0)
        return max((level + (other != lay) for level, other in readers), default=0)

    def _enter(self, chosen: Chosen, needs: Sequence[Need | None], level: int) -> None:
        """Note what an op makes, reads and changes, and what must be brought to it."""
        self._made.update(dict.fromkeys(chosen.op.results, level))
        for need in needs:
            if need is None or need.is_idle:
                continue
            if is_state(need.value):
                self._read.setdefault(need.value.variable.name, []).append((level, need.lay))
            if not need.is_held:
                self._bring(need.value, need.lay, level)
        for index in chosen.op.writes:
            value = chosen.op.inputs[index]
            if value is not None:
                self._written[value.variable.name] = (level, chosen.lay(index))
                self._read[value.variable.name] = [(level, chosen.lay(index))]
        if has_effect(chosen.op) and not chosen.op.writes:
            self._effect = level

    def _bring(self, value: Value, lay: Lay, level: int) -> None:
        source = self._choice.homes[value.variable.name] if is_state(value) else self._choice.lays[value]
        if source == lay or self._there.get((value, lay), level + 1) <= level:
            return
        key = (value, lay)
        if key in self._there:  # it is brought for a later op already: bring it earlier
            late = self._stages[self._there[key]].changes
            late[:] = [change for change in late if (change.value, change.target) != key]
        self._there[key] = level
        self._stage(level).changes.append(Change(value, source, lay))
