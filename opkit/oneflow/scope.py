"""Scopes (``flow.scope``): placement, name spaces, and the views, which have no effect on one device."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opkit.errors import UnsupportedError, UsageError
from opkit.settings import current_settings
from opkit.shim.missing import guard

__all__ = [
    "consistent_view",
    "consistent_view_enabled",
    "mirrored_view",
    "mirrored_view_enabled",
    "name_prefix",
    "namespace",
    "placement",
]


class _Names(threading.local):
    def __init__(self) -> None:
        self.stack: list[str] = []


_names = _Names()


def placement(
    device_tag: str, machine_device_ids: str | Sequence[str] = "0:0", hierarchy: Any = None
) -> AbstractContextManager[None]:
    """Place the ops of the block on a device.

    Args:
        device_tag: "cpu"; "gpu" under ``opkit run --gpu-as-cpu``.
        machine_device_ids: "0:0", or a list of these; one device is used in any case.

    Raises:
        UnsupportedError: a GPU is asked for.
        UsageError: the tag is neither "cpu" nor "gpu".
    """
    if device_tag in ("gpu", "cuda"):
        if not current_settings().gpu_as_cpu:
            raise UnsupportedError(
                f'flow.scope.placement("{device_tag}", ...): opkit\'s runtime is CPU only',
                help='write placement("cpu", "0:0"), or run the script with "opkit run --gpu-as-cpu JOB.py"',
            )
    elif device_tag != "cpu":
        raise UsageError(f"flow.scope.placement: the device tag is 'cpu' or 'gpu', got {device_tag!r}")
    return _block()


@contextmanager
def _block() -> Iterator[None]:
    yield


def namespace(name: str) -> AbstractContextManager[None]:
    """Put ``name-`` before the names of variables made in the block."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"flow.scope.namespace takes a non-empty string, got {name!r}")
    return _named(name)


@contextmanager
def _named(name: str) -> Iterator[None]:
    _names.stack.append(name)
    try:
        yield
    finally:
        _names.stack.pop()


def name_prefix() -> str:
    """Return what the current name spaces put before a name: "", or "outer-inner-"."""
    return "".join(f"{name}-" for name in _names.stack)


@contextmanager
def consistent_view() -> Iterator[None]:
    """Do nothing: one device sees one view."""
    yield


@contextmanager
def mirrored_view() -> Iterator[None]:
    """Do nothing: one device sees one view."""
    yield


def consistent_view_enabled() -> bool:
    """Say whether the consistent view is on (always)."""
    return True


def mirrored_view_enabled() -> bool:
    """Say whether the mirrored view is on (never)."""
    return False


__getattr__ = guard("flow.scope", __all__)
