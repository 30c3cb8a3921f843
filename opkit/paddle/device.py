"""``paddle.device``: the CPU."""

from __future__ import annotations

from opkit.paddle.framework.place import get_device, is_compiled_with_cuda, set_device
from opkit.shim.missing import guard

__all__ = [
    "get_all_device_type",
    "get_available_device",
    "get_device",
    "is_compiled_with_cuda",
    "set_device",
    "synchronize",
]


def get_available_device() -> list[str]:
    """Return the devices there are."""
    return ["cpu"]


def get_all_device_type() -> list[str]:
    """Return the kinds of devices there are."""
    return ["cpu"]


def synchronize(device: object = None) -> None:
    """Do nothing: every op has ended when its call returns."""


__getattr__ = guard(__name__, globals())
