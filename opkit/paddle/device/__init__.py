"""``paddle.device``: the CPU."""

from __future__ import annotations

from typing import Any

from opkit.errors import UnsupportedError
from opkit.paddle.framework.place import (
    CustomPlace,
    XPUPlace,
    get_device,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from opkit.shim.missing import guard

__all__ = [
    "CustomPlace",
    "Event",
    "Stream",
    "XPUPlace",
    "current_stream",
    "get_all_custom_device_type",
    "get_cudnn_version",
    "get_device",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
    "set_stream",
    "stream_guard",
    "synchronize",
]


def get_all_custom_device_type() -> list[str]:
    """Return the kinds of plugged-in devices: none."""
    return []


def get_cudnn_version() -> None:
    """Return the version of a GPU's library of networks: there is none."""


def synchronize(device: object = None) -> None:
    """Do nothing: every op has ended when its call returns."""


class Stream:
    """A queue of a GPU's work, which opkit does not have.

    Raises:
        UnsupportedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnsupportedError(f"opkit runs on the CPU, which has no {type(self).__name__}")


class Event(Stream):
    """A mark in a queue of a GPU's work, which opkit does not have."""


def current_stream(device: Any = None) -> Stream:
    """Refuse: the CPU has no queue of work.

    Raises:
        UnsupportedError: always.
    """
    raise UnsupportedError("opkit runs on the CPU, which has no current_stream()", help="ask is_compiled_with_cuda()")


set_stream = stream_guard = current_stream

_LATER = {"cuda": f"{__name__}.cuda"}
__getattr__ = guard(globals(), later=_LATER)
