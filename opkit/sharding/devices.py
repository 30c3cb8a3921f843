"""Devices and groups of them, and the placement strings that name them: "0:0-3", "@0:0-1".

Which engine runs a device is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opkit.errors import UsageError
from opkit.record import record

_NAME = re.compile(r"@?(\d+)(?:-(\d+))?:(\d+)(?:-(\d+))?")
#: A placement that names more devices is a slip of the pen.
_MOST = 1 << 16


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """A device of a machine."""

    machine: int
    index: int

    def __str__(self) -> str:
        return f"{self.machine}:{self.index}"


@record
class DeviceGroup:
    """The devices on which an op runs, in the order of their shards.

    Args:
        tag: "cpu" or "gpu".
        devices: sorted, none twice, at least one.
    """

    tag: str
    devices: tuple[Device, ...]
    # Groups are parts of keys that are looked up for each op and device: neither costs a walk over all devices.
    _places: Mapping[Device, int] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {device: place for place, device in enumerate(self.devices)})
        object.__setattr__(self, "_hash", hash((self.tag, self.devices)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[DeviceGroup], tuple[str, tuple[Device, ...]]]:
        # The hash of a text is another one in another process.
        return DeviceGroup, (self.tag, self.devices)

    def __contains__(self, device: object) -> bool:
        return device in self._places

    def place_of(self, device: Device) -> int:
        """Return the place of a device among them.

        Raises:
            KeyError: it is none of them.
        """
        return self._places[device]

    @staticmethod
    def of(tag: str, names: str | Sequence[str]) -> DeviceGroup:
        """Return the group that a placement names.

        Args:
            tag: "cpu" or "gpu".
            names: "MACHINE:DEVICES" such as "0:0-3", or several of these; "@0-1:0-3" names the devices 0 to 3 of two
                machines.

        Raises:
            UsageError: a name of another form, or no device.

        Source: OneFlow v0.4.0, core/job/parallel_desc.cpp: devices are sorted by machine, then by number.
        """
        given = [names] if isinstance(names, str) else list(names)
        found = {device for name in given for device in _devices(name)}
        if not found:
            raise UsageError("a placement needs at least one device", help='write "0:0" or "0:0-3"')
        return DeviceGroup(tag, tuple(sorted(found)))

    @staticmethod
    def local(count: int, tag: str = "cpu") -> DeviceGroup:
        """Return the first devices of machine 0."""
        return DeviceGroup.of(tag, f"0:0-{count - 1}")

    def __len__(self) -> int:
        return len(self.devices)

    def __str__(self) -> str:
        return f"{self.tag} {', '.join(_runs(self.devices))}"


def _devices(name: str) -> Iterator[Device]:
    found = _NAME.fullmatch(name.strip())
    if found is None:
        raise UsageError(f"{name!r} does not name devices", help='write "MACHINE:DEVICES", for example "0:0-3"')
    machine, last_machine, first, last = (int(part) if part else None for part in found.groups())
    machines = _span(machine, last_machine, name)
    indices = _span(first, last, name)
    if len(machines) * len(indices) > _MOST:
        raise UsageError(f"{name!r} names more than {_MOST} devices")
    return (Device(number, index) for number in machines for index in indices)


def _span(first: int | None, last: int | None, name: str) -> range:
    start = first or 0
    stop = start if last is None else last
    if stop < start:
        raise UsageError(f"{name!r} ends before it begins", help="write the smaller number first")
    return range(start, stop + 1)


def _runs(devices: Sequence[Device]) -> Iterator[str]:
    """Yield the shortest names of sorted devices: consecutive ones as "0:0-3"."""
    start = 0
    for place, device in enumerate(devices):
        follower = devices[place + 1] if place + 1 < len(devices) else None
        if follower == Device(device.machine, device.index + 1):
            continue
        first = devices[start]
        yield str(first) if first == device else f"{first}-{device.index}"
        start = place + 1
