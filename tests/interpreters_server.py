"""The process behind ``tests.interpreters``: it forks interpreters that have loaded what opkit's workers import.

``python interpreters_server.py ADDRESS PATH...``. For each set of frameworks there are two processes to copy: one that
has imported what an ordinary run imports, and becomes the blind server of each interpreter, and one that has loaded
the workers. Nothing of a test is imported here.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from opkit.blind import server
from opkit.blind.limits import put_aside

#: Bytes of a request: an environment, a path, names.
_LONGEST = 1 << 17
#: What the workers of most targets import.
_LOADED = (
    "opkit.verify.workers.zygote",
    "opkit.verify.workers.worker",
    "opkit.verify.trial.calls",
    "opkit.checker",
    "opkit.checker.claims.engine",
)


def main(address: str, path: list[str]) -> None:
    """Pass each request to the processes of its frameworks, until nobody is left who could ask."""
    sys.path[:] = path
    ways: dict[tuple[str, ...], socket.socket] = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            request, passed, *_ = socket.recv_fds(connection, _LONGEST, 4)
            frameworks = tuple(json.loads(request)["frameworks"])
            if frameworks not in ways:
                others = [listener, connection, *ways.values()]
                ways[frameworks] = _forked(_ordinary, *others, passed=passed, frameworks=frameworks)
            socket.send_fds(ways[frameworks], [request], passed)
            for descriptor in passed:
                os.close(descriptor)
            connection.close()
            _reap()
    for way in ways.values():
        way.close()
    _reap(0)


def _forked(run: Any, *others: socket.socket, passed: Sequence[int] = (), **given: Any) -> socket.socket:
    """Fork a process that serves requests, without what else is open here; return the way to it."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        mine.close()
        for other in others:
            other.close()
        for descriptor in passed:
            os.close(descriptor)
        try:
            run(its, **given)
            _reap(0)  # what they took of the processor counts as the tests'
        finally:
            os._exit(0)
    its.close()
    return mine


def _requests(way: socket.socket) -> Any:
    """Yield requests and their descriptors, which are closed here afterwards."""
    while True:
        request, passed, *_ = socket.recv_fds(way, _LONGEST, 5)
        if not request:
            return
        yield json.loads(request), request, passed
        for descriptor in passed:
            os.close(descriptor)
        _reap()


def _ordinary(way: socket.socket, frameworks: tuple[str, ...]) -> None:
    """Fork a blind server for each interpreter, from a process that has imported nothing of a check."""
    for name in frameworks:
        import_module(name)
    loaded = _forked(_workers, way)
    sys.modules["__main__"] = ModuleType("__main__")
    gc.freeze()
    here = os.getpid()
    for request, text, passed in _requests(way):
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            _become(request)
            listener = server._alone_with(its)
            gc.enable()
            server._serve(listener, here, request["unpinned"])
            os._exit(0)
        its.close()
        socket.send_fds(loaded, [text], [*passed, mine.fileno()])
        mine.close()
    loaded.close()


def _workers(way: socket.socket) -> None:
    """Fork an interpreter for each request, and report its number and how it ended."""
    for name in _LOADED:
        import_module(name)
    from opkit.verify.targets.load import preload
    from opkit.verify.targets.target import TargetKind

    preload([*TargetKind, TargetKind.DIRECTORY])
    sys.modules["__main__"] = ModuleType("__main__")
    gc.freeze()
    for request, _, (stdin, stdout, stderr, status, link) in _requests(way):
        if os.fork():
            continue
        way.close()
        pid = os.fork()
        if pid == 0:
            os.close(status)
            _run(request, (stdin, stdout, stderr), link)
        for descriptor in (stdin, stdout, stderr, link):
            os.close(descriptor)
        os.write(status, b"%d\n" % pid)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)


def _run(request: dict[str, Any], streams: tuple[int, int, int], link: int) -> NoReturn:
    """Be the interpreter."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    _become(request)
    server.usual.update(request["unpinned"])
    server._link = socket.socket(fileno=put_aside(link))
    sys.modules["opkit.verify.isolation.child"].Popen = partial(_begun, os.getpid())  # type: ignore[attr-defined]
    _program(request["then"])


def _program(module: str, **given: Any) -> NoReturn:
    gc.disable()
    try:
        import_module(module).main(**given)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def _begun(process: int, words: list[str], **streams: Any) -> Any:
    """Begin an interpreter: as a copy of the one that was copied here, where that has imported what is wanted.

    Args:
        process: the one that may be copied: it has run nothing of a user's, and asks a blind server that is as new.
        words: the command line.
        streams: as ``subprocess.Popen`` takes them, by which all others are started.
    """
    settings = json.loads(words[-1])
    is_like = os.getpid() == process and all(name in sys.modules for name in settings["frameworks"])
    return _Fork(settings, **streams) if is_like else subprocess.Popen(words, **streams)


class _Fork:
    """What is used of ``subprocess.Popen``."""

    def __init__(self, settings: dict[str, Any], pass_fds: Sequence[int], env: dict[str, str], **streams: Any) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            for number, name in enumerate(("stdin", "stdout", "stderr")):
                if streams[name] is not None:
                    os.dup2(streams[name].fileno(), number)
            assert server._link is not None
            kept = {*range(3), *pass_fds, server._link.fileno()}
            for descriptor in {*map(int, os.listdir("/proc/self/fd"))} - kept:
                with suppress(OSError):  # what lists them is closed
                    os.close(descriptor)
            os.environ.clear()
            os.environ.update(env)
            _program(settings["then"], descriptors=settings["descriptors"])


def _become(request: dict[str, Any]) -> None:
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:] = request["path"]
    sys.argv[:] = ["-c"]


def _reap(options: int = os.WNOHANG) -> None:
    try:
        while os.waitpid(-1, options)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
