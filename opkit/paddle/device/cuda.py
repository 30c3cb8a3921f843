"""``paddle.device.cuda`` without a GPU: none is counted, and asking one is an error, as in a CPU-only Paddle."""

from __future__ import annotations

from typing import Any, NoReturn

from opkit.paddle.device import Event, Stream, current_stream, stream_guard
from opkit.paddle.framework.place import NoDeviceError
from opkit.paddle.tensor.checks import titled
from opkit.shim.missing import guard

__all__ = [
    "Event",
    "NoDeviceError",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "stream_guard",
    "synchronize",
]


def device_count() -> int:
    """Return the number of GPUs: none."""
    return 0


def empty_cache() -> None:
    """Do nothing: no memory of a GPU is kept."""


def _refused(name: str) -> Any:
    """Return a function that refuses, as that of a Paddle without GPUs does."""

    def refuse(device: Any = None) -> NoReturn:
        raise NoDeviceError(
            f"paddle.device.cuda.{name}: opkit runs on the CPU only", help="ask paddle.is_compiled_with_cuda() first"
        )

    return titled(refuse, name, "Refuse: there is no GPU.")


synchronize = _refused("synchronize")
max_memory_allocated = _refused("max_memory_allocated")
max_memory_reserved = _refused("max_memory_reserved")
get_device_properties = _refused("get_device_properties")
get_device_capability = _refused("get_device_capability")


__getattr__ = guard(globals())
