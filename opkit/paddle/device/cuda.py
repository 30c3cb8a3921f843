"""``paddle.device.cuda`` without a GPU: none is counted, and asking one is an error, as in a CPU-only Paddle."""

from __future__ import annotations

from typing import Any

from opkit.paddle.device import Event, Stream, current_stream, stream_guard
from opkit.paddle.framework.place import NoDeviceError
from opkit.shim.missing import guard

__all__ = [
    "Event",
    "NoDeviceError",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "stream_guard",
    "synchronize",
]


def device_count() -> int:
    """Return the number of GPUs: none."""
    return 0


def empty_cache() -> None:
    """Do nothing: no memory of a GPU is kept."""


def synchronize(device: Any = None) -> None:
    """Refuse, as a Paddle without GPUs does.

    Raises:
        NoDeviceError: always.
    """
    raise _none("synchronize")


def max_memory_allocated(device: Any = None) -> int:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("max_memory_allocated")


def max_memory_reserved(device: Any = None) -> int:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("max_memory_reserved")


def memory_allocated(device: Any = None) -> int:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("memory_allocated")


def memory_reserved(device: Any = None) -> int:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("memory_reserved")


def get_device_properties(device: Any = None) -> Any:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("get_device_properties")


def get_device_name(device: Any = None) -> str:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("get_device_name")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Refuse: there is no GPU.

    Raises:
        NoDeviceError: always.
    """
    raise _none("get_device_capability")


def _none(name: str) -> NoDeviceError:
    return NoDeviceError(
        f"paddle.device.cuda.{name}: opkit runs on the CPU only", help="ask paddle.is_compiled_with_cuda() first"
    )


__getattr__ = guard(__name__, globals())
