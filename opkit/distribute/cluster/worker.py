"""What a worker does: it keeps its devices' variables and shards between steps, and runs their local programs.

These functions run in a worker's process, called by the tasks of ``engine``; a worker never decides what comes next.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.distribute.cluster.travel import Flat, rebuilt, unpacked
from opkit.distribute.exchange import received
from opkit.distribute.local import Held
from opkit.distribute.way import Lay
from opkit.ops.core.finite import FiniteCheck
from opkit.record import mutable_entity, record
from opkit.sharding import Device, Sbp, balanced
from opkit.static.plan import Plan, compile_plan
from opkit.static.scope import Scope
from opkit.version import __version__

#: A change by its number, the place of the device that sends, the place of the device that receives, and the array.
Piece = tuple[int, int, int, ndarray]
#: The receiver of what every device gets the same of.
_ALL = -1


@record
class Order:
    """A change of lay, as a worker has to know it.

    Args:
        number: of the change among all of the program.
        source_key: number of the value as it lies.
        target_key: number of the value as it is to lie.
        source: how it lies.
        target: how it is to lie.
        size: of the axis that is split afterwards; 0 where none is.
        state: the variable that it is, "" for a value.
    """

    number: int
    source_key: int
    target_key: int
    source: Lay
    target: Lay
    size: int
    state: str


@mutable_entity
class _Job:
    """A program on this worker.

    Args:
        session: whose variables it uses.
        plans: per stage and device: plan, fed keys, fetched keys, what its variables are.
        orders: per stage, what is exchanged before it.
        stores: per device, what it has.
    """

    session: str
    plans: list[dict[Device, tuple[Plan, list[int], list[int], list[Held]]]]
    orders: Sequence[Sequence[Order]]
    stores: dict[Device, dict[int, ndarray]] = field(default_factory=dict)


_jobs: dict[str, _Job] = {}
_CHECK = FiniteCheck(blames_origin=True)
#: Variables by session, name, device.
_variables: dict[tuple[str, str, Device], ndarray] = {}


def facts() -> dict[str, str]:
    """Return the versions that must be the same everywhere."""
    return {"opkit": __version__, "numpy": np.__version__, "Python": platform.python_version()}


def load(key: str, session: str, data: bytes) -> None:
    """Make the programs of this worker's devices.

    Args:
        key: of the program.
        session: whose variables it uses.
        data: per stage {device: its program}, and the changes before each stage, as bytes.
    """
    stages: Sequence[Mapping[Device, Flat]]
    stages, orders = unpacked(data)
    plans = []
    for stage in stages:
        made = {}
        for device, flat in stage.items():
            local, feeds, fetches = rebuilt(flat)
            is_exact = all(desc.is_static for desc in local.sizes.values())
            plan = compile_plan(local.program, feeds, fetches, local.sizes, is_exact=is_exact)
            held = [flat.held[name] for name in plan.holders]
            made[device] = (plan, [item for item, _ in flat.feeds], [item for item, _ in flat.fetches], held)
        plans.append(made)
    _jobs[key] = _Job(session, plans, orders)


def push(session: str, name: str, parts: Mapping[Device, ndarray]) -> None:
    """Keep what this worker's devices have of a variable."""
    for device, array in parts.items():
        _variables[session, name, device] = np.array(array)


def pull(session: str, names: Sequence[str], device: Device) -> dict[str, ndarray]:
    """Return what a device has of variables."""
    return {name: _variables[session, name, device] for name in names}


def part_for(array: ndarray, order: Order, sender: int, receiver: int) -> ndarray:
    """Return what one device must send another for a change: the part that it wants, of what the sender has."""
    target: Sbp = order.target.sbp
    if not target.is_split:
        return array
    wanted = balanced(order.size, len(order.target.devices))[receiver]
    axis = target.axis
    if order.source.sbp == target:
        held = balanced(order.size, len(order.source.devices))[sender]
        wanted = range(max(wanted.start, held.start) - held.start, min(wanted.stop, held.stop) - held.start)
    part: ndarray = array[(slice(None),) * axis + (slice(wanted.start, max(wanted.stop, wanted.start)),)]
    return part


def begin(key: str, is_checked: bool, given: Mapping[Device, Mapping[int, ndarray]]) -> None:
    """Drop what the last run left, and keep what each device is fed of its own.

    Args:
        key: of the program.
        is_checked: whether an op that makes NaN or infinity stops the job.
        given: what each device of this worker is fed, by number.
    """
    if is_checked != _CHECK.is_on:
        _CHECK.switch(is_checked)
    _jobs[key].stores = {device: dict(arrays) for device, arrays in given.items()}


def peek(key: str, device: Device, number: int) -> ndarray:
    """Return what a device has of a result."""
    return _jobs[key].stores[device][number]


def pack_all(key: str, stage: int, sources: Sequence[Device], targets: Sequence[Device], after: Any) -> list[Piece]:
    """Return what devices of this worker send to devices elsewhere before a stage, each of them something else.

    Args:
        key: of the program.
        stage: its number.
        sources: devices of this worker.
        targets: those that are elsewhere.
        after: what must be done first.
    """
    job = _jobs[key]
    pieces: list[Piece] = []
    for order in job.orders[stage]:
        if is_shared(order):
            continue
        for receiver, device in enumerate(order.target.devices.devices):
            for sender, source in enumerate(order.source.devices.devices):
                if device in targets and source in sources and sends(order, sender, receiver):
                    part = part_for(_had(job, order, source), order, sender, receiver)
                    pieces.append((order.number, sender, receiver, np.ascontiguousarray(part)))
    return pieces


def pack_shared(key: str, stage: int, sources: Sequence[Device], after: Any) -> list[Piece]:
    """Return what devices of this worker send to all that take part in a change, the same to each.

    Args:
        key: of the program.
        stage: its number.
        sources: devices of this worker.
        after: what must be done first.
    """
    job = _jobs[key]
    return [
        (order.number, sender, _ALL, np.ascontiguousarray(_had(job, order, source)))
        for order in job.orders[stage]
        if is_shared(order)
        for sender, source in enumerate(order.source.devices.devices)
        if source in sources
    ]


def is_shared(order: Order) -> bool:
    """Return whether a device sends several others the same: its part of what all are to have whole."""
    return order.source.sbp.kind != "B" and not order.target.sbp.is_split and len(order.target.devices) > 1


def sends(order: Order, sender: int, receiver: int) -> bool:
    """Return whether a device sends another anything: of a value that is whole everywhere, one device does."""
    if order.source.sbp.kind != "B":
        return True
    devices = order.source.devices
    own = order.target.devices.devices[receiver]
    return sender == (devices.place_of(own) if own in devices else 0)


def _had(job: _Job, order: Order, device: Device) -> ndarray:
    if order.state:
        return _variables[job.session, order.state, device]
    return job.stores[device][order.source_key]


def run_stage(key: str, stage: int, devices: Sequence[Device], after: Any, *arrived: Sequence[Piece]) -> None:
    """Run one stage of this worker's devices.

    Args:
        key: of the program.
        stage: its number.
        devices: of this worker.
        after: what must be done first.
        arrived: what devices elsewhere have sent.
    """
    job = _jobs[key]
    sent = {piece[:3]: piece[3] for pieces in arrived for piece in pieces}
    found: list[tuple[Device, int, ndarray]] = []
    for order in job.orders[stage]:
        for receiver, device in enumerate(order.target.devices.devices):
            if device in devices:
                parts = _parts(job, order, receiver, devices, sent)
                count = len(order.target.devices)
                if order.target.sbp.is_split:  # what was sent is the wanted part already
                    count, place = 1, 0
                else:
                    place = receiver
                found.append(
                    (device, order.target_key, received(parts, order.source.sbp, order.target.sbp, count, place))
                )
    for device, number, array in found:
        job.stores[device][number] = array
    for device, (plan, feeds, fetches, held) in job.plans[stage].items():
        _compute(job, device, plan, feeds, fetches, held)


def _parts(
    job: _Job, order: Order, receiver: int, devices: Sequence[Device], sent: Mapping[tuple[int, int, int], ndarray]
) -> list[ndarray]:
    parts = []
    for sender, source in enumerate(order.source.devices.devices):
        if not sends(order, sender, receiver):
            continue
        if source in devices:
            part = part_for(_had(job, order, source), order, sender, receiver)
            parts.append(np.array(part) if order.state else part)  # the variable itself may change in this stage
        else:
            parts.append(sent[order.number, sender, _ALL if is_shared(order) else receiver])
    return parts


def _compute(
    job: _Job, device: Device, plan: Plan, feeds: Sequence[int], fetches: Sequence[int], held: Sequence[Held]
) -> None:
    scope = Scope()
    holders = []
    for item in held:
        holder = scope.var(item.name)
        holder.put(_variables[job.session, item.name, device])
        holders.append(holder)
    store = job.stores[device]
    for number, array in zip(fetches, plan.run([store[number] for number in feeds], holders)):
        store[number] = array
    for item, holder in zip(held, holders):
        assert holder.array is not None
        _variables[job.session, item.name, device] = holder.array
