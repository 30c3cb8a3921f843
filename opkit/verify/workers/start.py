"""Start: the fresh interpreter that runs the workers, started and ended.

Only the standard library is imported here, so that it can be on its way before this process has loaded what it
needs itself; what it is asked is the client's business.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import IO, NoReturn

from opkit.blind.limits import THREADS, pinned, threads_here
from opkit.deferred import imported
from opkit.verify.isolation.interpreter import command

#: The module whose ``main`` the interpreter runs.
ZYGOTE = "opkit.verify.workers.zygote"
#: What loads op directories; a file that uses one imports it when it does.
LOADER = "opkit.project.loading"
#: How long the interpreter may take to end its workers when it is not wanted any more.
_PATIENCE = 2.0
#: The highest descriptor that a copy closes when it begins.
_HIGHEST = 4096


def start(words: Iterable[str] = (), folder: str | None = None) -> subprocess.Popen[bytes]:
    """Start the interpreter, with pipes to and from it; it waits for its request, and ends with its stdin.

    Args:
        words: what is to be checked: what its ordinary runs import is imported once for all copies.
        folder: that it works in, by default the one of this process.
    """
    return subprocess.Popen(
        command(ZYGOTE, _needed(words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=pinned(os.environ),
        start_new_session=True,
        bufsize=0,
    )


def pipes_of(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes to and from an interpreter."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the interpreter is started with both pipes")
    return process.stdin, process.stdout


def _needed(words: Iterable[str]) -> list[str]:
    """Return opkit's own modules that ordinary runs import: names of the frameworks that files mention, the loader."""
    files = {word.partition("::")[0] for word in words}
    found: set[str] = set()
    for file in files:
        names = {"oneflow"}  # of an op directory, as far as it matters here
        if file.endswith(".py"):
            with contextlib.suppress(OSError, ValueError), open(file, "rb") as stream:
                text = stream.read()
                names = {name for name in ("oneflow", "paddle") if name.encode() in text}
        found |= names
    return sorted([*(f"opkit.{name}" for name in found), *[LOADER] * ("oneflow" in found or not files)])


def _copied(words: Iterable[str]) -> subprocess.Popen[bytes]:
    """Fork the interpreter off this process, which has loaded nothing yet: both need numpy and opkit's ops."""
    environment = dict(os.environ)
    os.environ.update(pinned(environment))
    try:
        for name in ("opkit.blind.server", *_needed(words)):
            imported(name)
        return subprocess.Popen(
            [sys.executable],  # which is not run: what is called before never returns
            preexec_fn=lambda: _become({name: environment.get(name) for name in THREADS}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            restore_signals=False,
            bufsize=0,
        )
    finally:
        os.environ.clear()
        os.environ.update(environment)


def _become(usual: Mapping[str, str | None]) -> NoReturn:
    """Be the interpreter, as if it had just been started."""
    try:
        os.closerange(3, _HIGHEST)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.disable()
        sys.argv[:] = ["-c"]
        sys.path[:] = map(os.path.abspath, sys.path)
        sys.modules["__main__"] = ModuleType("__main__")
        sys.modules["opkit.blind.server"].main(ZYGOTE, usual)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


@contextlib.contextmanager
def started(words: Iterable[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Start the interpreter, and end it with everything beneath it; see ``start``.

    A process that has no threads and was only just started itself is copied.
    """
    is_new = hasattr(os, "fork") and "numpy" not in sys.modules and threads_here() == 1
    process = _copied(words) if is_new else start(words)
    try:
        yield process
    except BaseException:
        process.kill()  # where it was asked, whoever asked has ended it
        raise
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Close the interpreter's lifeline, give it a moment to end its workers, then end it; once is enough."""
    requests, answers = pipes_of(process)
    with contextlib.suppress(OSError):
        requests.close()
    try:
        process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    answers.close()
