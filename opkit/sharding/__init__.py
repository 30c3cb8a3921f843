"""Sharding: how a tensor lies on several devices, and what it costs to change that.

Arrays in, arrays out: no ops, no programs, no engine. Re-exports only.
"""

from __future__ import annotations

from opkit.sharding.boxing import bytes_moved
from opkit.sharding.devices import Device, DeviceGroup
from opkit.sharding.sbp import BROADCAST, PARTIAL, Sbp, parse_sbp, split
from opkit.sharding.shards import cut, gathered, parts_of
from opkit.sharding.signature import Arg, Signature
from opkit.sharding.splitting import balanced, shard_sizes

__all__ = [
    "BROADCAST",
    "PARTIAL",
    "Arg",
    "Device",
    "DeviceGroup",
    "Sbp",
    "Signature",
    "balanced",
    "bytes_moved",
    "cut",
    "gathered",
    "parse_sbp",
    "parts_of",
    "shard_sizes",
    "split",
]
