"""Distribute: one logical program becomes a physical one, over several devices, and engines run it.

No framework's words: what a placement string or a distribution means is its facade's. Re-exports only.
"""

from __future__ import annotations

from opkit.distribute.asked import SUM_OVER_DEVICES, Asked, Home, Verdict
from opkit.distribute.fabric import SEPARATE_MEMORIES, SHARED_MEMORY, Fabric, traffic
from opkit.distribute.job import DistributedJob, Engine
from opkit.distribute.physical import Physical, lay_over_devices
from opkit.distribute.threads import ThreadEngine
from opkit.distribute.way import HOST, MIRRORED, Facts, Lay, Way

__all__ = [
    "HOST",
    "MIRRORED",
    "SEPARATE_MEMORIES",
    "SHARED_MEMORY",
    "SUM_OVER_DEVICES",
    "Asked",
    "DistributedJob",
    "Engine",
    "Fabric",
    "Facts",
    "Home",
    "Lay",
    "Physical",
    "ThreadEngine",
    "Verdict",
    "Way",
    "lay_over_devices",
    "traffic",
]
