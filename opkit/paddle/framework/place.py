"""Places: opkit runs on the CPU; asking for another device is an error that says so."""

from __future__ import annotations

from typing import Any

from opkit.errors import UnsupportedError, UsageError

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "get_device", "is_compiled_with_cuda", "set_device"]


class CPUPlace:
    """The CPU."""

    def __repr__(self) -> str:
        return "Place(cpu)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        return hash("cpu")

    def is_cpu_place(self) -> bool:
        """Say whether this is the CPU."""
        return True

    def is_gpu_place(self) -> bool:
        """Say whether this is a GPU."""
        return False


class CUDAPlace:
    """A GPU, which opkit does not have.

    Raises:
        UnsupportedError: always.
    """

    def __init__(self, *args: Any) -> None:
        raise UnsupportedError(f"opkit runs on the CPU only, there is no {type(self).__name__}", help="use CPUPlace()")


class CUDAPinnedPlace(CUDAPlace):
    """Pinned memory, which opkit does not have."""


def get_device() -> str:
    """Return the name of the device, ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> CPUPlace:
    """Choose the device; only the CPU can be chosen.

    Raises:
        UnsupportedError: another device is asked for.
        UsageError: it is not a device name.
    """
    if isinstance(device, CPUPlace) or device == "cpu":
        return CPUPlace()
    if isinstance(device, str) and device.split(":")[0] in ("gpu", "xpu", "npu", "ipu", "mlu"):
        raise UnsupportedError(f"opkit runs on the CPU only, there is no device {device!r}", help="use 'cpu'")
    raise UsageError(f"set_device takes 'cpu', got {device!r}")


def is_compiled_with_cuda() -> bool:
    """Say whether there is GPU support: no."""
    return False
