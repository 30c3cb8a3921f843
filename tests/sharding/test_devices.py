"""Groups of devices: places, and what is kept beside the devices."""

from __future__ import annotations

import pickle

from opkit.sharding import Device, DeviceGroup


def test_a_group_that_was_sent_to_another_process_is_found_there() -> None:
    """Hashes of texts differ between processes: a group from elsewhere gets the hash of this one."""
    sent = DeviceGroup.of("cpu", "0:0-3")
    object.__setattr__(sent, "_hash", 7)  # that of the other process
    assert {DeviceGroup.of("cpu", "0:0-3"): 1}[pickle.loads(pickle.dumps(sent))] == 1


def test_the_place_of_a_device() -> None:
    """Its index among the sorted ones; a device that is not there has none."""
    group = DeviceGroup.of("cpu", ["1:0-1", "0:2"])
    assert [group.place_of(device) for device in group.devices] == [0, 1, 2]
    assert Device(1, 1) in group
    assert Device(0, 0) not in group
