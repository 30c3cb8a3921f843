"""Checks on a cluster: each op directory travels to a worker with its files, and its messages come back.

A worker that is lost while it checks is replaced by another; a target that is a file is checked here.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opkit.record import record
from opkit.verify.isolation.shown import shown_path
from opkit.verify.options import RunOptions
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.client import WorkerError, run_isolated
from opkit.verify.workers.ledger import Message

if TYPE_CHECKING:
    from opkit.distribute.cluster.connection import Cluster

#: Files beyond this size, in bytes, do not travel: an op's sources and small tables do.
_LARGEST = 16 << 20
#: How often an op is checked again elsewhere after its worker was lost.
_AGAIN = 3
_SKIPPED = ("__pycache__", ".git")


@record
class _Errand:
    """One op directory to check elsewhere.

    Args:
        place: the directory relative to the folder in which it is checked.
        name: the op type that is wanted alone, or "".
        files: its files by their path in it.
        options: of the run.
    """

    place: str
    name: str
    files: Mapping[str, bytes]
    options: RunOptions


def run_on_cluster(targets: Sequence[Target], options: RunOptions, text: str) -> Iterator[Message]:
    """Check targets on the workers of a cluster; yield what they say, target by target as they are done.

    Args:
        targets: what to check.
        options: of the run.
        text: "local:N", or the address of a scheduler.

    Raises:
        UsageError, OpkitError: there is no such cluster.
        WorkerError: all workers were lost.
    """
    from opkit.distribute.cluster.connection import connect

    cluster = connect(text)
    client = cluster.client
    asked = replace(options, jobs=1, replay=False, cluster="")
    futures: dict[int, Any] = {}
    for number, target in enumerate(targets):
        if target.kind is TargetKind.DIRECTORY:
            futures[number] = client.submit(_check_there, _errand(target, asked), pure=False, retries=_AGAIN)
    try:
        for number, target in enumerate(targets):
            if number not in futures:
                here = run_isolated([target], replace(options, cluster=""))
                yield from (replace(message, target=number) for message in here)
        asked_at = time.monotonic()
        while futures:
            done = [number for number, future in futures.items() if future.done()]
            for number in done:
                messages = _answer(futures.pop(number), targets[number], cluster)
                yield from (replace(message, target=number) for message in messages)
            if not done:
                time.sleep(0.02)
                if time.monotonic() - asked_at > 1.0:
                    asked_at = time.monotonic()
                    if len(cluster.lost()) == len(cluster.workers):
                        raise WorkerError(f"all workers of {text} were lost")
    finally:
        client.cancel(list(futures.values()))


def _errand(target: Target, options: RunOptions) -> _Errand:
    shown = shown_path(target.path)
    place = os.path.join("outside", os.path.basename(shown)) if os.path.isabs(shown) else shown
    root = Path(target.path)
    files = {}
    for folder, names, found in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED]
        for name in found:
            path = Path(folder) / name
            if path.is_file() and path.stat().st_size <= _LARGEST:
                files[str(path.relative_to(root))] = path.read_bytes()
    return _Errand(place, target.name, files, options)


def _answer(future: Any, target: Target, cluster: Cluster) -> list[Message]:
    """Return what a worker said of a target, with the paths that the user knows.

    Raises:
        WorkerError: it could not be checked, or all workers were lost with the answer.
    """
    if future.status != "finished":
        error = future.exception()
        raise WorkerError(f"{target.label} could not be checked on the cluster: {type(error).__name__}: {error}")
    while True:  # where the worker was lost with its answer, another one checks again
        try:
            folder, place, messages = future.result(timeout=5.0)
            break
        except TimeoutError:
            if len(cluster.lost()) == len(cluster.workers):
                raise WorkerError("all workers of the cluster were lost") from None
    shown = shown_path(target.path)
    found: list[Message] = _renamed(_renamed(messages, f"{folder}{os.sep}", ""), place, shown)
    return found


def _renamed(item: Any, old: str, new: str) -> Any:
    """Return plain data in which a path begins otherwise."""
    if old == new:
        return item
    if type(item) is str:  # an outcome is a text too, and stays
        return item.replace(old, new) if old in item else item
    if type(item) is tuple:
        return item and tuple(_renamed(part, old, new) for part in item)
    if type(item) is list:
        return [_renamed(part, old, new) for part in item]
    if type(item) is dict:
        return {name: _renamed(part, old, new) for name, part in item.items()}
    if is_dataclass(item) and not isinstance(item, type):
        changes = {
            field.name: changed
            for field in fields(item)
            if field.init and (changed := _renamed(held := getattr(item, field.name), old, new)) is not held
        }
        return replace(item, **changes) if changes else item
    return item


# ---- on the worker ---------------------------------------------------------------------------------------------------
def _check_there(errand: _Errand) -> tuple[str, str, list[Message]]:
    """Write a directory and check it in an interpreter of its own; runs on a worker.

    Returns:
        the folder that it lay in, its place there, and the messages.
    """
    with tempfile.TemporaryDirectory(prefix="opkit-check-") as name:
        folder = os.path.realpath(name)
        root = Path(folder) / errand.place
        for path, data in errand.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        target = Target(TargetKind.DIRECTORY, str(root), errand.name)
        return folder, errand.place, list(run_isolated([target], errand.options, folder=folder))
