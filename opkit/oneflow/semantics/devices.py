"""Devices as OneFlow v0.4 counts and places them: how many there are, which a job runs on, and the two views.

How a job is laid out over them is ``opkit.distribute``'s.
"""

from __future__ import annotations

import threading
from dataclasses import field
from typing import Any

from opkit.errors import UsageError
from opkit.record import mutable
from opkit.settings import current_settings
from opkit.sharding import DeviceGroup, Sbp, parse_sbp
from opkit.static import placed


@mutable
class Resources:
    """What ``flow.config`` and ``flow.env`` say there is.

    Attributes:
        cpu: CPU devices of each machine: what ``opkit run --threads`` says until the script does.
        gpu: GPU devices of each machine, which are CPU devices here; 0 where none was asked for.
        machines: how many there are.

    Source: OneFlow v0.4.0, python/framework/session_util.py: one device unless a script asks for more.
    """

    cpu: int = field(default_factory=lambda: current_settings().threads)
    gpu: int = 0
    machines: int = 1

    def devices(self) -> DeviceGroup:
        """Return the devices of ops without a placement: all of them, GPUs where there are some."""
        return DeviceGroup.of("cpu", f"0-{self.machines - 1}:0-{(self.gpu or self.cpu) - 1}")

    def count(self, tag: str) -> int:
        """Return how many devices of a kind each machine has; CPUs are at least as many as GPUs, as in OneFlow."""
        return max(self.cpu, self.gpu) if tag == "cpu" else max(self.gpu, 1)


def sbp_of(distribute: Any, asked_by: str) -> Sbp | None:
    """Return what a ``flow.distribute`` object stands for; None where the framework may choose.

    Raises:
        UsageError: it is something else.
    """
    name = getattr(distribute, "name", distribute)
    if name is None or name == "":
        return None
    if not isinstance(name, str):
        raise UsageError(
            f"{asked_by}: distribute is flow.distribute.split(axis) or flow.distribute.broadcast(), got {distribute!r}"
        )
    return parse_sbp(name)


class Placement:
    """``flow.scope.placement(...)``: ops within the ``with`` block run on its devices.

    Args:
        tag: "cpu" or "gpu".
        devices: as the script names them.
    """

    def __init__(self, tag: str, devices: DeviceGroup) -> None:
        self.tag = tag
        self.devices = devices
        self._entered: list[Any] = []

    def check(self, resources: Resources) -> None:
        """Refuse devices that are not there.

        Raises:
            UsageError: there are fewer.
        """
        count = resources.count(self.tag)
        for device in self.devices.devices:
            if device.machine >= resources.machines:
                raise UsageError(
                    f"placement {self.devices} names machine {device.machine}, and there "
                    f"{'is' if resources.machines == 1 else 'are'} {resources.machines}",
                    help='name them with flow.env.machine([{"addr": ...}, ...]) and use opkit run --cluster',
                )
            if device.index >= count:
                raise UsageError(
                    f"placement {self.devices} names device {device}, and each machine has {count} {self.tag} "
                    f"device{'' if count == 1 else 's'}",
                    help=f"call flow.config.{self.tag}_device_num({device.index + 1}) before the job first runs",
                )

    def __enter__(self) -> None:
        block = placed(DeviceGroup("cpu", self.devices.devices))
        block.__enter__()
        self._entered.append(block)
        _open.placements.append(self)

    def __exit__(self, *exc: Any) -> None:
        _open.placements.pop()
        self._entered.pop().__exit__(*exc)

    @staticmethod
    def current() -> Placement | None:
        """Return the innermost placement that is open in this thread, None where there is none."""
        return _open.placements[-1] if _open.placements else None


class View:
    """``flow.scope.consistent_view()`` and ``mirrored_view()``.

    Args:
        name: "consistent" or "mirrored".
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def current() -> str:
        """Return the name of the view in force."""
        return _open.views[-1].name if _open.views else "consistent"

    def __enter__(self) -> None:
        _open.views.append(self)

    def __exit__(self, *exc: Any) -> None:
        _open.views.pop()


class _Open(threading.local):
    """The views and placements whose ``with`` blocks are open in a thread, the traced job's view among them."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self.placements: list[Placement] = []


_open = _Open()
