"""The interpreters of opkit's workers, as copies of one that has loaded them: to start one takes longer than most checks.

What the copies are of is in ``interpreters_server``. A test that is about how an interpreter starts takes the fixture
``fresh_interpreters``; so does every part of ``.ci/run`` but the suite.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from opkit.blind.limits import pinned
from opkit.verify.isolation import interpreter
from opkit.verify.targets.load import frameworks_of
from opkit.verify.workers import client, start

ROOT = Path(__file__).resolve().parents[1]
_SERVER = Path(__file__).with_name("interpreters_server.py")
_started = start.start


class Copy:
    """What is used of ``subprocess.Popen``."""

    def __init__(self, stdin: int, stdout: int, status: int) -> None:
        self.stdin, self.stdout = open(stdin, "wb", buffering=0), open(stdout, "rb", buffering=0)  # noqa: SIM115
        self._status = open(status, "rb", buffering=0)  # noqa: SIM115
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its status."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a copy", timeout or 0.0)
            self.returncode = int(self._status.readline() or -signal.SIGKILL)
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return its status, None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended in between, and its end is not told yet
                os.kill(self.pid, signal.SIGKILL)


@cache
def address() -> str:
    """Return where copies are asked for; the first call starts the process that makes them."""
    folder = tempfile.mkdtemp()
    where = os.path.join(folder, "way")
    path = [os.path.abspath(item) for item in sys.path]
    process = subprocess.Popen(
        [sys.executable, str(_SERVER), where, json.dumps(path)],
        env=pinned({**os.environ, "PYTHONPATH": str(ROOT)}),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    return where


def copied(where: str, words: Iterable[str] = ()) -> Copy | subprocess.Popen[bytes]:
    """Return a copy that runs the zygote; a fresh interpreter where what is set is read when one starts."""
    if any(name.startswith("PYTHON") for name in os.environ.keys() - _PLAIN):
        return _started(words)
    paths = [word.partition("::")[0] for word in words]
    (*_, given) = interpreter.command(start.ZYGOTE, sorted([*start._needed(paths), *_frameworks(paths)]))
    request = {**json.loads(given), "folder": os.getcwd(), "environment": pinned(os.environ)}
    theirs_in, stdin = os.pipe()
    stdout, theirs_out = os.pipe()
    status, theirs_status = os.pipe()
    theirs = [theirs_in, theirs_out, 2, theirs_status]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as way:
        way.connect(where)
        socket.send_fds(way, [json.dumps(request).encode()], theirs)
    for descriptor in (theirs_in, theirs_out, theirs_status):
        os.close(descriptor)
    return Copy(stdin, stdout, status)


def _frameworks(paths: Iterable[str]) -> set[str]:
    """Return what is imported of the frameworks that files import; the interpreters that load them are copies too."""
    files = [path for path in paths if path.endswith(".py")]
    found: frozenset[str] = frozenset().union(*map(frameworks_of, files))
    return {name for name in found if find_spec(name.partition(".")[0])}


#: Variables of Python's that change nothing in a process that has started.
_PLAIN = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONIOENCODING"}


def stand_in(where: str | None) -> None:
    """Let this process's checks run in copies that are asked for there; with None, in fresh interpreters again."""

    def begin(words: Iterable[str] = (), folder: str | None = None) -> Copy | subprocess.Popen[bytes]:
        assert where is not None
        if folder is not None:  # copies work where the process that asks for them does
            return _started(words, folder)
        return copied(where, words)

    for module in (start, client):
        module.start = _started if where is None else begin  # type: ignore[assignment]
