"""Jobs on several devices: what a traced job asks for, and its form on devices.

Only imported where a job has more than one device. How it is laid out is ``opkit.distribute``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.distribute import SHARED_MEMORY, SUM_OVER_DEVICES, Asked, DistributedJob, Home, Physical, ThreadEngine
from opkit.oneflow.job_devices import JobDevices
from opkit.oneflow.semantics.claims import claimed_by
from opkit.oneflow.session import Session
from opkit.ops import apply
from opkit.static import CompiledJob

__all__ = ["distributed", "summed"]


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

    def engine(physical: Physical) -> ThreadEngine:
        return ThreadEngine(physical, owner.scope)

    return DistributedJob(graph, asked, SHARED_MEMORY, engine)
