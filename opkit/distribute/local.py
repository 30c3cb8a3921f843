"""Local programs: what one device computes in one stage, as a program that is compiled and run like any other.

Values keep their names and the user's lines; their shapes are those of the device's parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from opkit.distribute.choice import Choice, Chosen, local_attrs
from opkit.distribute.fabric import Fabric
from opkit.distribute.stages import Need, Stage, needs_of
from opkit.distribute.way import Lay, local_shape
from opkit.errors import UnsupportedError
from opkit.ir import Dialect, Operation, Program, TensorDesc, Value, Variable, to_numpy
from opkit.ops.core.types import Attrs
from opkit.record import mutable_entity, record
from opkit.sharding import Device
from opkit.static.plan.sizes import Known

#: A value that lies in some way: what a device has of it has one place.
Key = tuple[Value, Lay]


@record
class Held:
    """A variable as a local program has it.

    Args:
        name: of the variable.
        lay: how it lies.
        place: of the device among those that have it.
    """

    name: str
    lay: Lay
    place: int


@mutable_entity
class Local:
    """What one device computes in one stage.

    Args:
        program: the ops on the device's parts.
        feeds: Values of the program that are fed, by what they are.
        made: Values of the program by what they are.
        held: variables of the program by name.
        sizes: descriptions of what is fed, held or read for its shape.
        origins: the logical op of each op, and what makes its attributes differ from that one's.
    """

    program: Program
    feeds: dict[Key, Value] = field(default_factory=dict)
    made: dict[Key, Value] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    sizes: dict[Value, TensorDesc] = field(default_factory=dict)
    origins: list[tuple[int, str]] = field(default_factory=list)


def local_desc(known: Known, value: Value, lay: Lay, device: Device) -> TensorDesc:
    """Return the description of what a device has of a value."""
    desc = known[value]
    place = lay.devices.place_of(device)
    return TensorDesc(local_shape(desc.shape, lay.sbp, len(lay.devices), place), desc.dtype)


def local_of(
    stage: Stage, device: Device, choice: Choice, known: Known, fabric: Fabric, dialect: Dialect | None
) -> Local | None:
    """Return what a device computes in a stage; None where it has nothing to do."""
    ops = [chosen for chosen in stage.ops if device in chosen.devices]
    if not ops:
        return None
    builder = _Builder(device, known, dialect)
    for chosen in ops:
        builder.add(chosen, list(needs_of(chosen, choice, fabric)))
    return builder.local


class _Builder:
    def __init__(self, device: Device, known: Known, dialect: Dialect | None) -> None:
        self.local = Local(Program(dialect))
        self._device = device
        self._known = known
        self._variables: dict[Key, Variable] = {}
        self._held: dict[tuple[str, Lay], Variable] = {}

    def add(self, chosen: Chosen, needs: Sequence[Need | None]) -> None:
        """Append one op."""
        op = chosen.op
        if any(value.variable.persistable for value in op.results):
            raise UnsupportedError(
                f"op {op.label or op.type!r} computes a variable anew, which a job over several devices does not have",
                where=op.where,
            )
        block = self.local.program.blocks[0]
        inputs = tuple(None if need is None else self._input(need) for need in needs)
        count = len(chosen.devices)
        place = chosen.devices.place_of(self._device)
        attrs: Attrs = local_attrs(op, chosen.way, self._known, count, place)
        twin = Operation(block, op.opdef, inputs, attrs, op.role, op.site, op.label)
        block.append(twin)
        self.local.origins.append((id(op), "" if attrs is op.attrs else f"{attrs}"))
        outputs = []
        for index, (value, sbp) in enumerate(zip(op.results, chosen.way.results)):
            lay = Lay(chosen.devices, sbp)
            variable = self._variable((value, lay))
            desc = variable.desc
            outputs.append(variable.write(desc.shape, to_numpy(desc.dtype), twin, index))
            self.local.made[value, lay] = outputs[-1]
        for index in op.writes:
            held = inputs[index]
            assert held is not None
            twin.writes += (index,)
            outputs.append(held.variable.write(held.shape, held.dtype, twin, len(outputs)))
        twin.outputs = tuple(outputs)

    def _input(self, need: Need) -> Value:
        if need.is_held and not need.is_idle:
            return self._state(need)
        key = (need.value, need.lay)
        if key in self.local.made:
            return self.local.made[key]
        variable = self._variables.get(key) or self._variable(key, is_data=True)
        self.local.sizes[variable.value] = variable.desc
        if not need.is_idle:
            self.local.feeds[key] = variable.value
        return variable.value

    def _state(self, need: Need) -> Value:
        """Return the latest version of a variable, as it lies for this op."""
        name, lay = need.value.variable.name, need.lay
        variable = self._held.get((name, lay))
        if variable is None:
            variable = self._held[name, lay] = self._variable((need.value, lay))
            variable.persistable = True
            place = lay.devices.place_of(self._device)
            self.local.held[variable.name] = Held(name, lay, place)
            self.local.sizes[variable.value] = variable.desc
        return variable.value

    def _variable(self, key: Key, *, is_data: bool = False) -> Variable:
        value, lay = key
        block = self.local.program.blocks[0]
        name = value.name if lay.sbp.kind in "BM" else f"{value.name}@{lay.sbp}"
        while name in block.vars:
            name += "'"
        desc = local_desc(self._known, value, lay, self._device)
        variable = Variable(block, name, desc, stop_gradient=True, is_data=is_data)
        block.add_variable(variable)
        self._variables[key] = variable
        return variable
