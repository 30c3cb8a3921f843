"""Choice: on which devices each op of a program runs, and in which way, so that little has to move.

Greedy in program order, as OneFlow v0.4 chooses (core/operator/operator.cpp, InferSbpSignature): of the ways that an op
has, the one that costs least, given how its inputs lie. What costs is what must move to make the inputs lie so, and
the work of the busiest device. When ops run is ``stages``' to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.distribute.asked import SUM_OVER_DEVICES, Asked, Home
from opkit.distribute.fabric import Fabric
from opkit.distribute.rules import ways_of
from opkit.distribute.way import HOST, MIRRORED, WHOLE_ON_HOST, Facts, Lay, Way, local_shape, replicated
from opkit.errors import OpkitError, UnsupportedError, UsageError
from opkit.ir import Operation, TensorDesc, Value, to_numpy
from opkit.ops import OpDef
from opkit.record import entity, mutable_entity
from opkit.sharding import BROADCAST, PARTIAL, DeviceGroup, Sbp, parse_sbp
from opkit.static.plan.layout import is_state
from opkit.static.plan.prune import shape_only
from opkit.static.plan.sizes import Known

#: Multiplications that take as long as a byte that a kernel reads: products have far more of them.
_PER_BYTE = 16


@entity
class Chosen:
    """How an op runs.

    Args:
        op: the Operation of the logical program.
        devices: that run it.
        way: how.
        reason: why it is not cut, where that is worth saying.
    """

    op: Operation
    devices: DeviceGroup
    way: Way
    reason: str = ""

    def lay(self, index: int) -> Lay:
        """Return how an input must lie."""
        sbp = self.way.inputs[index]
        assert sbp is not None
        return Lay(self.devices, sbp)


@mutable_entity
class Choice:
    """How all ops run.

    Args:
        ops: in program order.
        lays: how each Value lies where it is made; variables are not among them.
        homes: how each variable lies, by name.
    """

    ops: list[Chosen] = field(default_factory=list)
    lays: dict[Value, Lay] = field(default_factory=dict)
    homes: dict[str, Lay] = field(default_factory=dict)


def choose(ops: Sequence[Operation], feeds: Sequence[Value], known: Known, asked: Asked, fabric: Fabric) -> Choice:
    """Choose how the ops of a program run.

    Args:
        ops: in program order.
        feeds: what the program is fed.
        known: descriptions of all Values.
        asked: what the job asks for.
        fabric: what lies between the devices.

    Raises:
        UsageError: a distribution that does not fit what it is asked for.
        UnsupportedError: the mirrored view does not have what an op does.
    """
    chooser = _Chooser(known, asked, fabric)
    chooser.settle(ops)
    source = Lay(asked.devices, MIRRORED) if asked.is_mirrored else WHOLE_ON_HOST
    chooser.choice.lays.update(dict.fromkeys(feeds, source))
    for op in ops:
        chooser.take(op)
    return chooser.choice


class _Chooser:
    def __init__(self, known: Known, asked: Asked, fabric: Fabric) -> None:
        self.choice = Choice()
        self._known = known
        self._asked = asked
        self._fabric = fabric
        self._there: set[tuple[Value, Lay]] = set()  # what lies in a second way already

    # ---- variables ---------------------------------------------------------------------------------------------------
    def settle(self, ops: Sequence[Operation]) -> None:
        """Find out where each variable lives: state that an op changes along with a variable lives where that does."""
        for op in ops:
            for value in op.inputs:
                if value is not None and is_state(value):
                    self._settle(value, self._asked.homes.get(value.variable.name, Home()))
        for op in ops:
            first, *others = [op.inputs[index] for index in op.writes] or [None]
            for value in others:
                if first is not None and value is not None and first.shape == value.shape:
                    self.choice.homes[value.variable.name] = self.choice.homes[first.variable.name]

    def _settle(self, value: Value, home: Home) -> None:
        devices, sbp = home.devices or self._asked.devices, home.sbp or BROADCAST
        shape = self._known[value].shape
        if sbp.is_split and (not sbp.fits(len(shape)) or shape[sbp.axis] < len(devices)):
            raise UsageError(
                f"variable {value.variable.name!r} of shape {list(shape)} cannot be distributed as {sbp} over "
                f"{len(devices)} devices",
                help="split an axis that is there and at least as long as there are devices",
            )
        self.choice.homes[value.variable.name] = Lay(devices, sbp)

    # ---- ops ---------------------------------------------------------------------------------------------------------
    def take(self, op: Operation) -> None:
        """Choose how one op runs."""
        chosen = self._mirrored(op) or self._alone(op) or self._cheapest(op)
        for index, value in enumerate(op.inputs):
            if value is not None and chosen.way.inputs[index] is not None and index not in shape_only(op):
                self._there.add((value, chosen.lay(index)))
        for value, sbp in zip(op.results, chosen.way.results):
            self.choice.lays[value] = Lay(chosen.devices, sbp)
        self.choice.ops.append(chosen)

    def _facts(self, op: Operation, count: int) -> Facts:
        known = self._known
        return Facts(
            tuple(None if value is None else known[value].shape for value in op.inputs),
            tuple(known[value].shape for value in op.results),
            tuple(None if value is None else to_numpy(known[value].dtype) for value in op.inputs),
            op.attrs,
            count,
        )

    def _devices(self, op: Operation) -> DeviceGroup:
        """Return where an op is to run: with the variable that it changes, else in its placement."""
        for index in op.writes:
            value = op.inputs[index]
            if value is not None:
                return self.choice.homes[value.variable.name].devices
        return op.placement or self._asked.devices

    def _mirrored(self, op: Operation) -> Chosen | None:
        """Return how an op runs that reads what each device has of its own."""
        lays = [None if value is None else self.choice.lays.get(value) for value in op.inputs]
        found = [lay for lay in lays if lay is not None and lay.sbp == MIRRORED]
        opdef: Any = op.opdef
        if not found and opdef is SUM_OVER_DEVICES:  # all devices have the same of it
            return Chosen(op, self._asked.devices, Way((BROADCAST,), (PARTIAL,)))
        if not found:
            return None
        if op.writes or (opdef.has_side_effect and opdef.is_user):
            what = "changes a variable" if op.writes else "is a Python function that sees"
            raise UnsupportedError(
                f"op {op.label or op.type!r} {what} in the mirrored view of {len(found[0].devices)} devices"
                + ("" if op.writes else " arrays, and they differ from device to device"),
                where=op.where,
                help="use the consistent view, or one device",
            )
        inputs = tuple(
            None if value is None else MIRRORED if lay is not None and lay.sbp == MIRRORED else BROADCAST
            for value, lay in zip(op.inputs, lays)
        )
        result = PARTIAL if opdef is SUM_OVER_DEVICES else MIRRORED
        return Chosen(op, found[0].devices, Way(inputs, (result,) * len(op.results)))

    def _alone(self, op: Operation) -> Chosen | None:
        """Return how an op runs that is not to run on several devices whatever its shapes."""
        opdef: Any = op.opdef
        facts = self._facts(op, 1)
        if opdef.has_side_effect and not op.writes:
            return Chosen(op, HOST, replicated(facts), "effects happen in the script's process")
        if opdef.is_random:
            return Chosen(op, HOST, replicated(facts), "random numbers are drawn as on one device")
        values = (*(value for value in op.inputs if value is not None), *op.results)
        if not all(self._known[value].is_static for value in values):
            return Chosen(op, _first(self._devices(op)), replicated(facts), "its sizes are not known in advance")
        return None

    def _cheapest(self, op: Operation) -> Chosen:
        devices = self._devices(op)
        if len(devices) == 1:
            return Chosen(op, devices, replicated(self._facts(op, 1)))
        facts = self._facts(op, len(devices))
        ways, reason = self._ways(op, facts)
        candidates = [Chosen(op, devices, way) for way in ways if self._may_write(op, way, devices)]
        candidates = self._wished(op, candidates)
        alone = Chosen(op, _first(devices), replicated(facts), reason)
        if not self._is_pinned(op) and (self._fabric.shares_memory or self._may_write(op, alone.way, alone.devices)):
            candidates.append(alone)
        if not candidates:
            raise UnsupportedError(
                f"op {op.label or op.type!r} changes a variable that is distributed over {len(devices)} devices, and "
                "cannot change it in parts",
                where=op.where,
                help="leave the variable whole: distribute=flow.distribute.broadcast()",
            )
        costs = [self._cost(item, facts) for item in candidates]
        return candidates[costs.index(min(costs))]

    def _ways(self, op: Operation, facts: Facts) -> tuple[list[Way], str]:
        opdef: OpDef = op.opdef  # type: ignore[assignment]
        if self._is_pinned(op):
            sbp = parse_sbp(op.attrs["sbp_parallel"])
            way = Way((sbp,), (sbp,))
            if not way.fits(facts):
                raise UsageError(
                    f"a blob of shape {list(facts.given(0))} cannot be distributed as {sbp} over {facts.count} devices",
                    where=op.where,
                    help="split an axis that is there and at least as long as there are devices",
                )
            return [way], ""
        if not opdef.is_user:
            return [*ways_of(opdef, facts), replicated(facts)], ""
        verdict = self._asked.claimed(op, facts)
        return [
            way for way in verdict.ways if way.fits(facts) and _is_taken(op, way, facts, self._known)
        ], verdict.reason

    def _is_pinned(self, op: Operation) -> bool:
        return op.type == "parallel_cast" and bool(op.attrs["sbp_parallel"])

    def _may_write(self, op: Operation, way: Way, devices: DeviceGroup) -> bool:
        """Return whether the variables that an op changes may be changed in a way.

        In one memory they exist once, and two devices must not change the same part; elsewhere each device changes
        what it has.
        """
        for index in op.writes:
            value, sbp = op.inputs[index], way.inputs[index]
            if value is None or sbp is None:
                continue
            home = self.choice.homes[value.variable.name]
            if self._fabric.shares_memory:
                if not sbp.is_split:
                    return False
            elif Lay(devices, sbp) != home:
                return False
        return True

    def _wished(self, op: Operation, candidates: list[Chosen]) -> list[Chosen]:
        """Keep to the distribution that the script gave a variable, where the op has such a way."""
        for index, value in enumerate(op.inputs):
            if value is None or not is_state(value) or op.role != "forward":
                continue
            wish = self._asked.homes.get(value.variable.name, Home()).sbp
            if wish is not None:
                candidates = [item for item in candidates if item.way.inputs[index] == wish] or candidates
        return candidates

    # ---- costs -------------------------------------------------------------------------------------------------------
    def _cost(self, chosen: Chosen, facts: Facts) -> float:
        op, way = chosen.op, chosen.way
        total = _work(op, facts, way, self._known)
        idle = shape_only(op)
        for index, value in enumerate(op.inputs):
            if value is not None and index not in idle:
                total += self._move(value, chosen.lay(index))
        return total

    def _move(self, value: Value, target: Lay) -> float:
        if (value, target) in self._there:
            return 0.0
        source = self.choice.lays.get(value)
        if source is None:
            source = self.choice.homes.get(value.variable.name, WHOLE_ON_HOST)
            if self._fabric.shares_memory:
                return 0.0
        desc = self._known[value]
        return self._fabric.cost(desc.shape, to_numpy(desc.dtype).itemsize, source, target)


def _first(devices: DeviceGroup) -> DeviceGroup:
    return DeviceGroup(devices.tag, devices.devices[:1])


def _work(op: Operation, facts: Facts, way: Way, known: Known) -> float:
    """Return what the busiest device has to do, in bytes that it reads and writes."""
    total = sum(_bytes(known[value], sbp, facts.count) for value, sbp in zip(op.results, way.results))
    terms = _terms(op, facts)
    if terms:  # what a product reads, it reads from a cache
        return total + terms / _PER_BYTE / (facts.count if way.is_cut else 1)
    idle = shape_only(op)
    for index, value in enumerate(op.inputs):
        if value is not None and index not in idle:
            total += _bytes(known[value], way.inputs[index], facts.count)
    return total


def _bytes(desc: TensorDesc, sbp: Sbp | None, count: int) -> float:
    size = math.prod(desc.shape) * to_numpy(desc.dtype).itemsize
    return size / count if sbp is not None and sbp.is_split else size


def _terms(op: Operation, facts: Facts) -> float:
    """Return how many products an op adds up, 0 where it multiplies neither matrices nor images."""
    if op.type in ("matmul", "batch_matmul", "broadcast_matmul"):
        inner = facts.given(0)[-2 if facts.attrs["transpose_a"] else -1]
        return math.prod(facts.results[0]) * inner
    if op.type.startswith("conv") and len(facts.inputs) > 1 and facts.inputs[1] is not None:
        # Each element of the larger image meets each filter's window.
        images = max(math.prod(facts.given(0)), *(math.prod(shape) for shape in facts.results))
        other = facts.results[0] if op.type == "conv_filter_grad" else facts.given(1)
        return images * math.prod(other[1:])
    return 0.0


def _is_taken(op: Operation, way: Way, facts: Facts, known: Known) -> bool:
    """Return whether the definition of a user's op takes the shards of a way, and gives the expected shapes."""
    opdef: OpDef = op.opdef  # type: ignore[assignment]
    assert opdef.infer is not None
    for place in range(facts.count):
        descs = [
            None
            if value is None or sbp is None
            else TensorDesc(local_shape(known[value].shape, sbp, facts.count, place), known[value].dtype)
            for value, sbp in zip(op.inputs, way.inputs)
        ]
        try:
            found = opdef.infer(descs, op.attrs)  # type: ignore[arg-type]
        except OpkitError:
            return False
        expected = [local_shape(known[v].shape, sbp, facts.count, place) for v, sbp in zip(op.results, way.results)]
        if [desc.shape for desc in found] != expected:
            return False
    return True


def local_attrs(op: Operation, way: Way, known: Known, count: int, place: int) -> Mapping[str, Any]:
    """Return the attributes that an op has on one device."""
    if way.shape_attr:
        shape = local_shape(known[op.results[0]].shape, way.results[0], count, place)
        return {**op.attrs, way.shape_attr: shape}
    opdef: Any = op.opdef
    if opdef.is_random and op.attrs.get("seed", 0) not in (0, -1):  # in the mirrored view: other numbers on each device
        return {**op.attrs, "seed": op.attrs["seed"] + place}
    return op.attrs
