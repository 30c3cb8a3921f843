"""Scopes (``flow.scope``): placement, name spaces, and the views."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opkit import static
from opkit.errors import UnsupportedError, UsageError
from opkit.oneflow.semantics.devices import Placement, View
from opkit.oneflow.session import session
from opkit.record import record
from opkit.settings import current_settings
from opkit.sharding import DeviceGroup
from opkit.shim.missing import guard

__all__ = [
    "consistent_view",
    "consistent_view_enabled",
    "current_scope",
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
    """Run the ops of the block on some devices; a job over several is laid out over them (``docs/devices.md``).

    Args:
        device_tag: "cpu"; "gpu" under ``opkit run --gpu-as-cpu``.
        machine_device_ids: "0:0", "0:0-3", "@0-1:0-3", or a list of these.

    Raises:
        UnsupportedError: a GPU is asked for.
        UsageError: the tag is neither "cpu" nor "gpu", the devices are not named so, or (within a job) not there.
    """
    if device_tag in ("gpu", "cuda"):
        if not current_settings().gpu_as_cpu:
            raise UnsupportedError(
                f'flow.scope.placement("{device_tag}", ...): opkit\'s runtime is CPU only',
                help='write placement("cpu", "0:0"), or run the script with "opkit run --gpu-as-cpu JOB.py"',
            )
        device_tag = "gpu"
    elif device_tag != "cpu":
        raise UsageError(f"flow.scope.placement: the device tag is 'cpu' or 'gpu', got {device_tag!r}")
    found = Placement(device_tag, DeviceGroup.of(device_tag, machine_device_ids))
    owner = session()
    if owner.job is not None:
        found.check(owner.resources)
    return found


def namespace(name: str) -> AbstractContextManager[None]:
    """Put ``name-`` before the names of variables made in the block; ``opkit graph`` folds large jobs by it."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"flow.scope.namespace takes a non-empty string, got {name!r}")
    return _named(name)


@contextmanager
def _named(name: str) -> Iterator[None]:
    _names.stack.append(name)
    try:
        with static.scoped(name):
            yield
    finally:
        _names.stack.pop()


def name_prefix() -> str:
    """Return what the current name spaces put before a name: "", or "outer-inner-"."""
    return "".join(f"{name}-" for name in _names.stack)


def consistent_view() -> View:
    """Return the view in which a job sees whole blobs, however they lie on devices."""
    return _view("consistent")


def mirrored_view() -> View:
    """Return the view in which each device runs the job on arrays of its own.

    It is that of a whole job: ``config.default_logical_view(flow.scope.mirrored_view())``.
    """
    return _view("mirrored")


def _view(name: str) -> View:
    job = session().job
    if job is not None and job.is_on_several and job.devices.view.name != name:
        raise UnsupportedError(
            f"flow.scope.{name}_view() within job {job.name!r}, which runs in the {job.devices.view.name} view of "
            "several devices",
            help=f"choose the view of the whole job: config.default_logical_view(flow.scope.{name}_view())",
        )
    return View(name)


def consistent_view_enabled() -> bool:
    """Return whether the consistent view is on."""
    return View.current() == "consistent"


def mirrored_view_enabled() -> bool:
    """Return whether the mirrored view is on."""
    return View.current() == "mirrored"


@record
class ParallelDesc:
    """The devices of a scope.

    Attributes:
        device_tag: "cpu" or "gpu".
        parallel_num: how many they are.
    """

    device_tag: str
    parallel_num: int


@record
class CurrentScope:
    """What ``flow.current_scope()`` returns.

    Attributes:
        device_parallel_desc_symbol: the devices on which ops would run.
    """

    device_parallel_desc_symbol: ParallelDesc


def current_scope() -> CurrentScope:
    """Return where ops that are built now run: the innermost placement, else the job's own, else all devices."""
    owner, found = session(), Placement.current()
    if found is None and owner.job is not None:
        given = owner.job.config.values.get("default_placement_scope")
        found = given if isinstance(given, Placement) else None
    if found is not None:
        return CurrentScope(ParallelDesc(found.tag, len(found.devices)))
    return CurrentScope(ParallelDesc("gpu" if owner.resources.gpu else "cpu", len(owner.resources.devices())))


__getattr__ = guard("flow.scope", __all__)
