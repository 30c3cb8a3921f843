"""The engine of a cluster: each device belongs to a worker; shards stay there, and only what must move does.

Tasks are given to Dask, each bound to its worker; what a stage needs from other devices goes from worker to worker.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.distribute.cluster import worker
from opkit.distribute.cluster.connection import Cluster
from opkit.distribute.cluster.travel import Maker, flattened, packed
from opkit.distribute.cluster.variables import ClusterVariables
from opkit.distribute.cluster.worker import Order, Piece
from opkit.distribute.exchange import received
from opkit.distribute.local import Key
from opkit.distribute.physical import LocalStep, Physical
from opkit.distribute.way import HOST, MIRRORED
from opkit.ops import OpDef
from opkit.record import entity
from opkit.sharding import Device
from opkit.static.plan import Plan, compile_plan
from opkit.static.plan.layout import is_state

_HOST = HOST.devices[0]
_serials = itertools.count()


@entity
class _Pack:
    """What the devices of one worker send before a stage.

    Args:
        source: address of the worker.
        targets: addresses of those that need it; "" is the script's process.
        future: of the pieces.
    """

    source: str
    targets: Sequence[str]
    future: Any


class ClusterEngine:
    """Runs a physical program on the workers of a cluster.

    Args:
        physical: the program.
        cluster: its workers.
        variables: of the job's session.
        worker_of: the worker of a device.
        maker_of: returns what makes an op of a directory again on a worker, None for other ops.
        is_checked: says whether an op that makes NaN or infinity stops the job.
    """

    def __init__(
        self,
        physical: Physical,
        cluster: Cluster,
        variables: ClusterVariables,
        worker_of: Callable[[Device], str],
        maker_of: Callable[[OpDef], Maker | None],
        is_checked: Callable[[], bool] = bool,
    ) -> None:
        self.physical = physical
        self._cluster = cluster
        self._variables = variables
        self._worker_of = worker_of
        self._is_checked = is_checked
        self._key = f"{os.getpid()}-{next(_serials)}"
        self._numbers: dict[Key, int] = {}
        self._orders = self._ordered()
        self._devices: dict[str, list[Device]] = {}
        for device in physical.devices:
            self._devices.setdefault(worker_of(device), []).append(device)
        self._host: list[tuple[LocalStep, Plan] | None] = [
            self._of_host(step.locals.get(_HOST)) for step in physical.steps
        ]
        self._written = self._changed()
        self._stage = 0
        self._load(maker_of)

    # ---- making ------------------------------------------------------------------------------------------------------
    def _number(self, key: Key) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _ordered(self) -> list[list[Order]]:
        """Return what is exchanged before each stage, as workers have to know it."""
        for key in (*self.physical.feeds, *self.physical.outputs):
            self._number(key)
        for step in self.physical.steps:
            for item in step.locals.values():
                for key in (*item.feeds, *item.fetches):
                    self._number(key)
        serial = itertools.count()
        orders = []
        for step in self.physical.steps:
            found = []
            for change in step.changes:
                shape = self.physical.known[change.value].shape
                size = shape[change.target.sbp.axis] if change.target.sbp.is_split else 0
                keys = self._number((change.value, change.source)), self._number((change.value, change.target))
                state = change.value.variable.name if is_state(change.value) else ""
                found.append(Order(next(serial), *keys, change.source, change.target, size, state))
            orders.append(found)
        return orders

    def _of_host(self, step: LocalStep | None) -> tuple[LocalStep, Plan] | None:
        if step is None:
            return None
        local = step.local
        feeds, fetches = [local.feeds[key] for key in step.feeds], [local.made[key] for key in step.fetches]
        is_exact = all(desc.is_static for desc in local.sizes.values())
        return step, compile_plan(local.program, feeds, fetches, local.sizes, is_exact=is_exact)

    def _changed(self) -> set[str]:
        return {
            value.variable.name
            for chosen in self.physical.choice.ops
            for index in chosen.op.writes
            if (value := chosen.op.inputs[index]) is not None
        }

    def _load(self, maker_of: Callable[[OpDef], Maker | None]) -> None:
        futures = []
        for address, devices in self._devices.items():
            stages = [
                {device: flattened(step.locals[device], self._numbers) for device in devices if device in step.locals}
                for step in self.physical.steps
            ]
            data = packed((stages, self._orders), maker_of)
            futures.append(self._cluster.submit(address, worker.load, self._key, self._variables.session, data))
        self._cluster.gather(futures, lambda address: "it was making the job's programs, before the first step")

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the program once; see ``ThreadEngine.run``.

        Raises:
            LostWorkerError: a worker is gone; the message names it, its op, and the last complete step.
        """
        store: dict[int, Any] = {}
        mirrored: list[tuple[int, Sequence[Device], list[ndarray]]] = []
        for (value, lay), item in zip(self.physical.feeds, feeds):
            if lay.sbp == MIRRORED:
                mirrored.append((self._numbers[value, lay], lay.devices.devices, list(item)))
            else:
                store[self._numbers[value, lay]] = item
        self._stage = 0
        after: dict[str, list[Any]] = {address: [] for address in self._devices}
        sent = self._variables.send(self.physical.choice.homes)
        if sent:
            self._cluster.gather(sent, lambda address: self._doing(address, "variables were sent to it"))
        for address, devices in self._devices.items():
            given: dict[Device, dict[int, ndarray]] = {device: {} for device in devices}
            for number, others, arrays in mirrored:
                for device, array in zip(others, arrays):
                    if device in given:
                        given[device][number] = array
            brought = self._cluster.brought(address, given, self._sending)
            after[address] = [self._cluster.submit(address, worker.begin, self._key, self._is_checked(), brought)]
        pending: list[Any] = []
        for stage in range(len(self.physical.steps)):
            self._stage = stage
            pending += self._staged(stage, after, store)
        self._wait(pending)
        self._variables.steps += 1
        self._variables.changed(self._written)
        return self._results(store)

    def _staged(self, stage: int, after: dict[str, list[Any]], store: dict[int, Any]) -> list[Any]:
        """Give out the tasks of one stage; what the script's process needs is waited for."""
        orders = self._orders[stage]
        packs = self._packs(stage, after)
        if any(_HOST in order.target.devices for order in orders):
            self._arrive(orders, self._wait([pack.future for pack in packs if "" in pack.targets]), store)
        futures = []
        for address, devices in self._devices.items():
            # What a worker sends is taken before it goes on, which may change variables.
            after[address] += [pack.future for pack in packs if pack.source == address]
            if self._has_part(stage, devices):
                arrived = [pack.future for pack in packs if address in pack.targets]
                own = self._from_host(orders, devices, store)
                arrived += [self._cluster.brought(address, own, self._sending)] if own else []
                given = (self._key, stage, devices, after[address], *arrived)
                after[address] = [self._cluster.submit(address, worker.run_stage, *given)]
                futures += after[address]
        host = self._host[stage]
        if host is not None:
            step, plan = host
            found = plan.run([store[self._numbers[key]] for key in step.feeds], [])
            store.update({self._numbers[key]: array for key, array in zip(step.fetches, found)})
        return futures

    def _has_part(self, stage: int, devices: Sequence[Device]) -> bool:
        if any(device in self.physical.steps[stage].locals for device in devices):
            return True
        return any(device in order.target.devices for order in self._orders[stage] for device in devices)

    def _packs(self, stage: int, after: dict[str, list[Any]]) -> list[_Pack]:
        """Let each device send what others need, those of each worker together.

        What all get the same of is one task of its sender's, so that the number of tasks grows with that of the devices
        and not with its square.
        """
        shared = [order for order in self._orders[stage] if worker.is_shared(order)]
        others = [order for order in self._orders[stage] if not worker.is_shared(order)]
        packs: list[_Pack] = []
        for source, own in self._devices.items():
            given = (self._key, stage, own)
            targets = [
                target
                for target, theirs in self._devices.items()
                if source != target and any(_moves(order, own, theirs) for order in shared)
            ]
            if targets:
                packs.append(
                    _Pack(source, targets, self._cluster.submit(source, worker.pack_shared, *given, after[source]))
                )
            for target, theirs in (*self._devices.items(), ("", [_HOST])):
                if source != target and any(_moves(order, own, theirs) for order in others):
                    made = self._cluster.submit(source, worker.pack_all, *given, theirs, after[source])
                    packs.append(_Pack(source, [target], made))
        return packs

    def _from_host(self, orders: Sequence[Order], devices: Sequence[Device], store: dict[int, Any]) -> list[Piece]:
        pieces: list[Piece] = []
        for order in orders:
            if order.source.devices == HOST:
                for receiver, device in enumerate(order.target.devices.devices):
                    if device in devices:
                        part = worker.part_for(store[order.source_key], order, 0, receiver)
                        pieces.append((order.number, 0, receiver, np.ascontiguousarray(part)))
        return pieces

    def _arrive(self, orders: Sequence[Order], packs: Sequence[Sequence[Piece]], store: dict[int, Any]) -> None:
        sent = {piece[:3]: piece[3] for pieces in packs for piece in pieces}
        for order in orders:
            if _HOST in order.target.devices:
                senders = range(len(order.source.devices))
                parts = [sent[order.number, sender, 0] for sender in senders if (order.number, sender, 0) in sent]
                store[order.target_key] = received(parts, order.source.sbp, order.target.sbp, 1, 0)

    def _results(self, store: dict[int, Any]) -> list[Any]:
        """Return the results, each the caller's own."""
        found: list[Any] = []
        for key in self.physical.outputs:
            lay = key[1]
            number = self._numbers[key]
            if lay.sbp == MIRRORED:
                futures = [
                    self._cluster.submit(self._worker_of(device), worker.peek, self._key, device, number)
                    for device in lay.devices.devices
                ]
                found.append([np.array(array) for array in self._wait(futures)])
            else:
                found.append(np.array(store[number]))
        return found

    def _wait(self, futures: Sequence[Any]) -> list[Any]:
        return self._cluster.gather(futures, lambda address: self._doing(address, ""))

    def _sending(self, address: str) -> str:
        return self._doing(address, "arrays were sent to it")

    def _doing(self, address: str, what: str) -> str:
        """Return what a worker was doing, for the message of its loss."""
        done = self._variables.steps
        text = f"{done} step{'' if done == 1 else 's'} complete; in the next, "
        if what:
            return text + what
        devices = self._devices.get(address, [])
        steps = self.physical.steps[: self._stage + 1]
        for number, step in reversed(list(enumerate(steps, 1))):
            for device in devices:
                if device in step.locals:
                    ops = step.locals[device].local.program.blocks[0].ops
                    where = "" if ops[0].where is None else f" ({ops[0].where.file}:{ops[0].where.line})"
                    last = f" to {ops[-1].label or ops[-1].type!r}" if len(ops) > 1 else ""
                    name = ops[0].label or ops[0].type
                    return f"{text}stage {number} of {len(self.physical.steps)}: op {name!r}{where}{last}"
        return text + "nothing of its own"


def _moves(order: Order, own: Sequence[Device], others: Sequence[Device]) -> bool:
    """Return whether some of these devices send something to some of the others."""
    return any(
        device in others and source in own and worker.sends(order, sender, receiver)
        for receiver, device in enumerate(order.target.devices.devices)
        for sender, source in enumerate(order.source.devices.devices)
    )
