"""ApiTrial: a child process that tries one API file, is given two seconds, and is ended with all that it started.

What it tries is in ``trying``; what comes back is data, read from a file, which a grandchild cannot keep open.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from os import _exit  # by value: the API file may replace it in the module
from pathlib import Path
from typing import Any

from opkit.project.api_fact import ApiFact
from opkit.project.api_remark import Remark
from opkit.project.directory import OpDirectory

#: How long an API file may take.
SECONDS = 2.0
#: How long it may take until the file's own code begins to run: a fresh interpreter, the definitions.
_START = 20.0
_PAUSE = 0.003
#: Exit status of a child that went through the whole file.
_GOOD = 87
#: What a fresh interpreter runs: the working directory is not on its path, unless it is on ours.
_BEGIN = """import json, sys
given = json.loads(sys.argv[1])
sys.path[:] = given["path"]
from pathlib import Path
from opkit.verify.trial.child import run_child
from opkit.project.directory import op_directory_of
run_child(op_directory_of(given["directory"]), Path(given["messages"]))
"""


class ApiTrial:
    """The trial of one API file, from its start on.

    A process with one thread is forked; another gives the work to a fresh interpreter, since a fork would copy the
    locks of threads that it does not have.

    Args:
        directory: whose API file it is; without one there is nothing to try.
        seconds: how long the file may take.
    """

    def __init__(self, directory: OpDirectory, seconds: float = SECONDS) -> None:
        self._directory = directory
        self._seconds = seconds
        self._is_idle = not (directory.api.is_file() and directory.spec.is_file())
        if self._is_idle:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="opkit-trial-")
        self._messages = Path(self._folder.name) / "messages"
        self._messages.touch()
        self._started = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        if _can_fork():
            self._pid = _fork(directory, self._messages)
        else:
            self._process = _spawn(directory, self._messages)
            self._pid = self._process.pid

    def facts(self) -> list[ApiFact]:
        """Wait for the end, at most for the time it has, and return what was found."""
        if self._is_idle:
            return []
        status = self._wait()
        self._end()
        lines = self._messages.read_text(encoding="utf-8").splitlines()
        self._folder.cleanup()
        self._is_idle = True
        messages = [json.loads(line) for line in lines if line.endswith("}")]
        facts = [ApiFact.from_json(item["fact"]) for item in messages if "fact" in item]
        if status != _GOOD:
            begun = [(str(item["begin"]), int(item["line"])) for item in messages if "begin" in item]
            facts.append(_unfinished(status, self._seconds, *(begun or [("", 1)])[-1]))
        return facts

    def _wait(self) -> int | None:
        """Return the child's exit status, below 0 for a signal; None where its time ran out.

        The file's time begins with its first line, so that a busy machine's slow start is not held against it.
        """
        until = self._started + _START
        is_begun = False
        while True:
            status = self._polled()
            if status is not None or time.monotonic() > until:
                return status
            if not is_begun and self._messages.stat().st_size:
                is_begun, until = True, time.monotonic() + self._seconds
            time.sleep(_PAUSE)

    def _polled(self) -> int | None:
        if self._process is not None:
            return self._process.poll()
        pid, raw = os.waitpid(self._pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(raw) if pid else None

    def _end(self) -> None:
        """End the child's session: itself if it still runs, and what it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        else:
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def tried(directories: Sequence[OpDirectory], seconds: float = SECONDS) -> dict[str, list[ApiFact]]:
    """Try API files, as many at once as there are processors.

    Args:
        directories: the op directories.
        seconds: how long each file may take.

    Returns:
        {real path of the directory: what was found}.
    """
    width = max(os.cpu_count() or 1, 1)
    found: dict[str, list[ApiFact]] = {}
    running: deque[tuple[OpDirectory, ApiTrial]] = deque()
    for directory in directories:
        if len(running) >= width:
            done, trial = running.popleft()
            found[done.real] = trial.facts()
        running.append((directory, ApiTrial(directory, seconds)))
    found.update({done.real: trial.facts() for done, trial in running})
    return found


def _unfinished(status: int | None, seconds: float, name: str, line: int) -> ApiFact:
    """Return the fact that a child did not go through its file."""
    where = f"in {name}()" if name else "at its top level"
    if status is None:
        how = f"it did not finish within {seconds:g} s"
    elif status < 0:
        how = f"it was ended by signal {-status} ({_signal_name(-status)})"
    else:
        how = f"it ended its process with exit status {status}"
    message = f"the API file could not be tried: {where} {how}"
    return ApiFact(Remark("PROJ024", message, "keep what takes long or ends processes out of the API file"), line)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _can_fork() -> bool:
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _fork(directory: OpDirectory, messages: Path) -> int:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        run_child(directory, messages)
    finally:
        _exit(1)


def _spawn(directory: OpDirectory, messages: Path) -> subprocess.Popen[bytes]:
    given = json.dumps({"path": sys.path, "directory": str(directory.path), "messages": str(messages)})
    return subprocess.Popen(
        [sys.executable, "-c", _BEGIN, given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )


def run_child(directory: OpDirectory, messages: Path) -> None:
    """Try a file in this process, which prints nowhere and ends here; write what is found as it is found."""
    # Here, since it takes the facades: the process that waits for one trial does other things meanwhile.
    from opkit.verify.trial.trying import try_api_file

    own = os.getpid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)

    def say(**message: Any) -> None:
        # A process that the file has forked may come here too; only one of them speaks.
        if os.getpid() == own:
            with open(messages, "a", encoding="utf-8") as handle:
                handle.write(json.dumps(message) + "\n")

    try:
        for fact in try_api_file(directory, lambda name, line: say(begin=name, line=line)):
            say(fact=fact.to_json())
        _exit(_GOOD if os.getpid() == own else 0)
    except BaseException as error:
        say(died=f"{type(error).__name__}: {error}")
        _exit(1)
