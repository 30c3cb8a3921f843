"""Variables of a session on a cluster: what its workers have of them, and what the script's process has.

They move only when somebody asks: workers keep theirs between steps, and are sent what was changed here.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from opkit.distribute.cluster import worker
from opkit.distribute.cluster.connection import Cluster
from opkit.distribute.exchange import received
from opkit.distribute.way import Lay
from opkit.sharding import BROADCAST, Device, cut
from opkit.static.scope import Scope

_serials = itertools.count()


class ClusterVariables:
    """The variables of one session.

    Args:
        cluster: where they are.
        scope: where the script's process has them.
        worker_of: the worker of a device.
    """

    def __init__(self, cluster: Cluster, scope: Scope, worker_of: Callable[[Device], str]) -> None:
        self.session = f"{os.getpid()}-{next(_serials)}"
        self.steps = 0
        self._cluster = cluster
        self._scope = scope
        self._worker_of = worker_of
        self._there: dict[str, Lay] = {}
        self._ahead: set[str] = set()

    def send(self, homes: dict[str, Lay]) -> list[Any]:
        """Let the workers have these variables as they lie; returns futures of what must be done first."""
        late = [name for name, lay in homes.items() if self._there.get(name) != lay]
        if self._ahead.intersection(late):
            self.fetch()
            late = list(homes)
        futures = []
        for name in late:
            held = self._scope.find_var(name)
            assert held is not None
            assert held.array is not None, "variables of jobs are initialised when they are made"
            lay = homes[name]
            shards = cut(held.array, lay.sbp, len(lay.devices))
            for device, shard in zip(lay.devices.devices, shards):
                parts = {device: np.ascontiguousarray(shard)}
                address = self._worker_of(device)
                futures.append(self._cluster.submit(address, worker.push, self.session, name, parts))
            self._there[name] = lay
        return futures

    def changed(self, names: Iterable[str]) -> None:
        """Note that workers have newer contents of these variables than the script's process."""
        self._ahead.update(names)

    def fetch(self) -> None:
        """Bring what workers changed to the script's process, and send all again before the next run.

        Raises:
            LostWorkerError: a worker is gone; nothing is changed here then.
        """
        if not self._ahead:
            self._there.clear()
            return
        wanted: dict[Device, list[str]] = {}
        for name in sorted(self._ahead):
            lay = self._there[name]
            devices = lay.devices.devices if lay.sbp != BROADCAST else lay.devices.devices[:1]
            for device in devices:
                wanted.setdefault(device, []).append(name)
        futures = [
            self._cluster.submit(self._worker_of(device), worker.pull, self.session, names, device)
            for device, names in wanted.items()
        ]
        doing = f"it held variables that were asked for after step {self.steps}"
        found = dict(zip(wanted, self._cluster.gather(futures, lambda address: doing)))
        for name in sorted(self._ahead):
            lay = self._there[name]
            parts = [found[device][name] for device in lay.devices.devices if name in found.get(device, {})]
            holder = self._scope.find_var(name)
            assert holder is not None
            assert holder.array is not None
            holder.array[...] = received(parts, lay.sbp, BROADCAST, 1, 0)
        self._ahead.clear()
        self._there.clear()
