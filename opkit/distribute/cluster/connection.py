"""Connection: a cluster to run on: a scheduler elsewhere, or processes started here.

What the workers do is in ``worker``. There is one connection per process; it ends with it.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.cores import usable_cores
from opkit.distribute.cluster import worker
from opkit.errors import OpkitError, UsageError

#: Seconds to reach a scheduler, and until workers that are started here have come.
_REACH, _START = 5.0, 30.0
#: A worker that has not been heard of for so many seconds is lost.
_SILENT = 15.0
#: Seconds that a part of the connection may take to close.
_PATIENCE = 5.0
#: Seconds between two questions whether all workers are there, while results are waited for.
_ASK = 1.0
#: From this size on, in bytes, arguments are sent apart from the task, as Dask wants it.
_LARGE = 1 << 18


class ClusterError(OpkitError):
    """A cluster cannot be used."""


class LostWorkerError(ClusterError):
    """A worker ended, or was not heard of any more, while it was needed."""


def needs_dask() -> Any:
    """Return Dask's ``distributed``.

    Raises:
        ClusterError: it is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"a cluster needs Dask, and it cannot be imported: {error}", help="pip install 'opkit[cluster]'"
        ) from error
    return distributed


class Cluster:
    """A connection to workers.

    Args:
        text: "local:N" for N processes here, or a scheduler's address such as "tcp://host:8786".

    Attributes:
        workers: their addresses, in an order that stays.

    Raises:
        UsageError: it is neither, nobody answers there, there is no worker, or one has other versions.
        ClusterError: Dask is not installed, or the processes do not start.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._processes: list[subprocess.Popen[bytes]] = []
        self._local: Any = None
        self.client: Any = None
        distributed = needs_dask()
        local = re.fullmatch(r"local:(\d+)", text)
        if local is None and not re.fullmatch(r"\w+://.+", text):
            raise UsageError(f"{text!r} is not a cluster", help="write local:4, or an address such as tcp://host:8786")
        try:
            if local is not None:
                self._start(distributed, int(local[1]))
            else:
                self._reach(distributed, text)
            self.workers = self._listed()
            if not self.workers:
                raise UsageError(f"the cluster at {text} has no worker", help=f"start one: dask worker {text}")
            self._check_versions()
        except BaseException:
            self.close()
            raise

    # ---- beginning and end -------------------------------------------------------------------------------------------
    def _reach(self, distributed: Any, address: str) -> None:
        try:
            _greeted(address)
            self.client = distributed.Client(address, timeout=_REACH, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"no scheduler answers at {address} ({type(error).__name__}: {error})",
                help="start one with dask scheduler, or use --cluster local:4",
            ) from error

    def _start(self, distributed: Any, count: int) -> None:
        """Start a scheduler in this process and workers as processes of their own, by exec."""
        if count < 1:
            raise UsageError("a cluster needs at least one worker", help="write local:4")
        self._local = distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", host="127.0.0.1", protocol="tcp://", silence_logs=40
        )
        self.client = distributed.Client(self._local, set_as_default=False)
        threads = str(max(1, usable_cores() // count))
        paths = os.pathsep.join(dict.fromkeys(item for item in sys.path if item and os.path.isdir(item)))
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONPATH": paths}
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "20", "--host", "127.0.0.1"]
        for index in range(count):
            line = [sys.executable, "-m", "distributed.cli.dask_worker", self._local.scheduler_address, *words]
            self._processes.append(
                subprocess.Popen(
                    [*line, "--name", f"opkit-{index}"],
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        end = time.monotonic() + _START
        while len(self._listed()) < count:
            if time.monotonic() > end or any(item.poll() is not None for item in self._processes):
                raise ClusterError(f"{count} worker processes were started here, and {len(self._listed())} came")
            time.sleep(0.05)

    def close(self) -> None:
        """Leave the cluster; processes that were started here end."""
        for item in (self.client, self._local):
            if item is not None:
                _within(_PATIENCE, item.close)
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ---- workers -----------------------------------------------------------------------------------------------------
    def _seen(self) -> dict[str, Any]:
        return dict(self._identity()["workers"])

    def _identity(self) -> Any:
        async def ask() -> Any:
            return await self.client.scheduler.identity(n_workers=-1)

        return self.client.sync(ask, callback_timeout=_SILENT)

    def _listed(self) -> list[str]:
        seen = self._seen()
        return sorted(seen, key=lambda address: (str(seen[address]["name"]), address))

    def _check_versions(self) -> None:
        own = worker.facts()
        try:
            found = self.client.run(_facts_of_worker)
        except OSError as error:  # a connection ended; a worker's own error is of another type
            raise LostWorkerError(
                f"a worker of {self.text} is lost: it was asked for its versions ({error})", help="run it again"
            ) from error
        for address in self.workers:
            theirs = found.get(address) or {}
            other = [name for name in own if theirs.get(name) != own[name]]
            if other:
                differences = ", ".join(
                    f"{name} {theirs.get(name, 'missing')} there, {own[name]} here" for name in other
                )
                raise UsageError(
                    f"worker {address} has other versions: {differences}", help="install the same versions everywhere"
                )

    def lost(self) -> list[str]:
        """Return the workers that are gone or silent."""
        if self._processes and all(process.poll() is not None for process in self._processes):
            return list(self.workers)
        try:
            seen = self._seen()
        except Exception:  # the scheduler itself is gone
            return list(self.workers)
        now = time.time()
        return [item for item in self.workers if item not in seen or now - seen[item]["last_seen"] > _SILENT]

    # ---- work --------------------------------------------------------------------------------------------------------
    def submit(self, address: str, function: Callable[..., Any], *args: Any) -> Any:
        """Let one worker call a function; returns a future."""
        return self.client.submit(function, *args, workers=[address], allow_other_workers=False, pure=False, retries=0)

    def brought(self, address: str, item: Any, doing: Callable[[str], str]) -> Any:
        """Return what stands for an argument of a worker's task: a future of what was sent to it, where it is large.

        Raises:
            LostWorkerError: a worker is gone; see ``gather``.
        """
        if _size(item) < _LARGE:
            return item
        return self._awaited(self.client._scatter([item], workers=[address], hash=False), doing)[0]

    def gather(self, futures: Sequence[Any], doing: Callable[[str], str]) -> list[Any]:
        """Return the results of futures.

        Args:
            futures: the futures.
            doing: says what a worker was doing, for the message of its loss.

        Raises:
            LostWorkerError: a worker is gone before they are done.
            Exception: what a function raised.
        """
        started = asked = time.monotonic()
        while not all(item.done() for item in futures):
            now = time.monotonic()
            time.sleep(min(0.02, max(0.0005, (now - started) / 10)))
            if now - asked > _ASK:
                asked = now
                self.check(doing)
        try:
            found: list[Any] = self._awaited(self.client._gather(list(futures), errors="raise", direct=False), doing)
        except LostWorkerError:
            raise
        except Exception:
            self.check(doing)
            raise
        return found

    def _awaited(self, coroutine: Any, doing: Callable[[str], str]) -> Any:
        """Return the result of one of the client's coroutines, which wait for lost workers without an end."""
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)
        while True:
            try:
                return waiting.result(_ASK)
            except (TimeoutError, concurrent.futures.TimeoutError):
                if waiting.done():
                    raise
            try:
                self.check(doing)
            except LostWorkerError:
                waiting.cancel()
                raise

    def check(self, doing: Callable[[str], str]) -> None:
        """Raise where a worker is lost.

        Raises:
            LostWorkerError: one is.
        """
        for address in self.lost():
            raise LostWorkerError(
                f"worker {address} of {self.text} is lost: {doing(address)}",
                help="variables and checkpoints are those of the last save; run the job again from there",
            )


def _within(seconds: float, function: Callable[[], Any]) -> None:
    """Call a function, and wait for it so long at most; what it raises is of no interest: it may be gone already."""

    def call() -> None:
        with contextlib.suppress(Exception):
            function()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)


def _greeted(address: str) -> None:
    """Wait until a scheduler says anything: Dask's own attempt has no end where a server accepts and is silent.

    Raises:
        OSError: nobody answers there in time.
    """
    found = re.fullmatch(r"tcp://\[?(.+?)\]?:(\d+)/?", address)
    if found is None:
        return
    with socket.create_connection((found[1], int(found[2])), timeout=_REACH) as probe:
        if not probe.recv(1):
            raise ConnectionError("the connection was closed at once")


def _size(item: Any) -> int:
    """Return the bytes of all arrays in lists, tuples and dicts."""
    if isinstance(item, Mapping):
        return sum(map(_size, item.values()))
    if isinstance(item, (list, tuple)):
        return sum(map(_size, item))
    return int(getattr(item, "nbytes", 0))


def _facts_of_worker() -> Mapping[str, str]:
    from opkit.distribute.cluster.worker import facts

    return facts()


_open: dict[str, Cluster] = {}


def connect(text: str) -> Cluster:
    """Return the cluster of a text; one connection per process, closed when it ends."""
    if text not in _open:
        if not _open:
            atexit.register(_close_all)
        _open[text] = Cluster(text)
    return _open[text]


def _close_all() -> None:
    for cluster in _open.values():
        cluster.close()
    _open.clear()
