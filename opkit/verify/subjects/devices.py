"""Devices: what reports say of the device that a run asks for.

Arrays are put there by each framework's own runner.
"""

from __future__ import annotations

from dataclasses import replace

from opkit.checker import Checkable

#: What an op says that runs on a device, before the device's name.
RAN_ON = "forward and backward ran on the device"


def without_device(checkable: Checkable, device: str) -> Checkable:
    """Return an op whose reports say that a device that was asked for has no part in it, where that is so."""
    if not device or any(remark.startswith(RAN_ON) for remark in checkable.remarks):
        return checkable
    remark = f"the device {device!r} has no part in this op: its functions take numpy arrays"
    return replace(checkable, remarks=(*checkable.remarks, remark))
