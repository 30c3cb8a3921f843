"""Jobs on several devices: what a traced job asks for, and its form on devices: threads, or workers of a cluster.

Only imported where a job has more than one device. How it is laid out is ``opkit.distribute``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.distribute import (
    SEPARATE_MEMORIES,
    SHARED_MEMORY,
    SUM_OVER_DEVICES,
    Asked,
    DistributedJob,
    Engine,
    Home,
    Physical,
    ThreadEngine,
)
from opkit.oneflow.config import DEBUG_CHECK
from opkit.oneflow.job_devices import JobDevices
from opkit.oneflow.semantics.claims import DirectoryMaker, claimed_by, maker_for
from opkit.oneflow.session import Session
from opkit.ops import OpDef, apply
from opkit.project import UserOp
from opkit.settings import current_settings
from opkit.sharding import Device
from opkit.static import CompiledJob


def summed(gradient: object) -> object:
    """Return the sum over all devices of what each has, in the mirrored view."""
    return apply(SUM_OVER_DEVICES, (gradient,), {})


def distributed(
    graph: CompiledJob, owner: Session, devices: JobDevices, homes: Mapping[str, tuple[Any, Any]]
) -> DistributedJob:
    """Return a traced job as one that runs on several devices.

    Args:
        graph: the job.
        owner: its session.
        devices: its devices and view.
        homes: of variables by name: the devices of the placement in which each was made, and how it is distributed.
    """
    lived = {name: Home(*home) for name, home in homes.items()}
    asked = Asked(devices.default(), lived, bool(devices.lists), claimed_by(owner.registry))
    cluster = current_settings().cluster
    if cluster:
        return DistributedJob(graph, asked, SEPARATE_MEMORIES, lambda physical: _on_cluster(physical, owner, cluster))
    return DistributedJob(graph, asked, SHARED_MEMORY, lambda physical: ThreadEngine(physical, owner.scope))


def _on_cluster(physical: Physical, owner: Session, text: str) -> Engine:
    from opkit.distribute.cluster.connection import connect
    from opkit.distribute.cluster.engine import ClusterEngine
    from opkit.distribute.cluster.variables import ClusterVariables

    cluster = connect(text)
    every = owner.resources.devices().devices

    def worker_of(device: Device) -> str:
        place = every.index(device) if device in every else device.index
        return cluster.workers[place % len(cluster.workers)]

    if owner.elsewhere is None:
        owner.elsewhere = ClusterVariables(cluster, owner.scope, worker_of)
    assert isinstance(owner.elsewhere, ClusterVariables)
    users = {id(op.opdef): op for op in physical.program.blocks[0].ops if op.opdef.is_user}  # type: ignore[attr-defined]

    def maker_of(opdef: OpDef) -> DirectoryMaker | None:
        op = users.get(id(opdef))
        found = None if op is None else owner.registry.find(op.type)
        return maker_for(op, found) if op is not None and isinstance(found, UserOp) else None

    return ClusterEngine(physical, cluster, owner.elsewhere, worker_of, maker_of, lambda: DEBUG_CHECK.is_on)
