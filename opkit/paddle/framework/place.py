"""Places: opkit runs on the CPU; asking for another device is an error that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import UnsupportedError, UsageError

#: How the names of devices begin that Paddle 2.6 knows beside the CPU.
_OTHER_DEVICES = ("gpu", "xpu", "npu", "ipu", "mlu")


class NoDeviceError(UnsupportedError, ValueError):
    """There is no such device (Paddle raises ValueError)."""


class CPUPlace:
    """The CPU."""

    def __repr__(self) -> str:
        return "Place(cpu)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        return hash("cpu")

    def is_cpu_place(self) -> bool:
        """Return whether this is the CPU."""
        return True

    def is_gpu_place(self) -> bool:
        """Return whether this is a GPU."""
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


class XPUPlace(CUDAPlace):
    """An XPU, which opkit does not have."""


class CustomPlace(CUDAPlace):
    """A plugged-in device, which opkit does not have."""


def get_device() -> str:
    """Return the name of the device, ``"cpu"``."""
    return "cpu"


def expected_place() -> CPUPlace:
    """Return where Tensors are made: the CPU."""
    return CPUPlace()


def set_device(device: Any) -> CPUPlace:
    """Choose the device; only the CPU can be chosen.

    Raises:
        NoDeviceError: another device is asked for.
        UsageError: it is not a device name.
    """
    return place_of("set_device", device)


def place_of(function: str, device: Any) -> CPUPlace:
    """Return the place that a function's argument names.

    Args:
        function: the function, for messages.
        device: a place or the name of a device; ``"cpu"`` or ``"cpu:0"`` is the only one there is.

    Raises:
        NoDeviceError: another device is named.
        UsageError: it is not the name of a device.
    """
    if isinstance(device, CPUPlace) or device in ("cpu", "cpu:0"):
        return CPUPlace()
    if isinstance(device, str) and device.split(":")[0] in _OTHER_DEVICES:
        raise NoDeviceError(f"{function}: opkit runs on the CPU only, there is no device {device!r}", help="use 'cpu'")
    raise UsageError(f"{function} takes 'cpu', got {device!r}")


def is_compiled_with_cuda() -> bool:
    """Return whether there is GPU support: no."""
    return False


def get_cuda_rng_state() -> list[Any]:
    """Return the states of the GPUs' random number generators: there are none."""
    return []


def set_cuda_rng_state(state_list: Sequence[Any]) -> None:
    """Put the GPUs' random number generators back into their states.

    Raises:
        UsageError: there is a state, and no GPU for it.
    """
    if len(state_list):
        raise UsageError(f"set_cuda_rng_state: {len(state_list)} states for 0 GPUs")


def is_compiled_with_rocm() -> bool:
    """Return whether there is support for AMD's GPUs: no."""
    return False


def is_compiled_with_xpu() -> bool:
    """Return whether there is support for XPUs: no."""
    return False


def is_compiled_with_cinn() -> bool:
    """Return whether there is a compiler of graphs: no."""
    return False


def is_compiled_with_distribute() -> bool:
    """Return whether ``paddle.distributed`` is there: yes, for one process."""
    return True


def is_compiled_with_custom_device(device_type: str) -> bool:
    """Return whether there is support for a plugged-in device: no."""
    return False
