"""Server: a process that was forked before anything of a check was imported, and forks an ordinary one when asked.

It runs no user code itself, and looks at nothing of what is asked and answered.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import io
import os
import pickle
import selectors
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from opkit.blind import call, frames
from opkit.blind.call import Answers, Origin, Request, Taken
from opkit.blind.clocks import make_movable
from opkit.blind.limits import limit_memory, put_aside
from opkit.blind.loop import performed
from opkit.blind.marks import look_ordinary
from opkit.blind.players import Player, player_of
from opkit.collection import Freezing
from opkit.record import record

#: What each process would import anew: the encoding of kernel files, the limit of memory.
_ALWAYS = ("encodings.utf_8_sig", "resource")
#: The highest descriptor that the server closes when it begins.
_HIGHEST = 4096
#: What a process answers once it has loaded a function, and is to be told what to call.
_LOADED = b""
#: Seconds between two looks whether the process that started the server is still there.
_GLANCE = 1.0

#: The way to the server of this process and its forked copies, None where there is none.
_link: socket.socket | None = None
#: Variables of the environment as the user's own process has them.
usual: dict[str, str | None] = {}


class NoAnswerError(Exception):
    """A process gave no answer; the text completes "an ordinary process ..."."""


class SilentError(NoAnswerError):
    """A process had what it was asked, and ended or took its time."""


class UnloadedError(SilentError):
    """It did so before it had loaded what it was to call."""


@record
class Opening:
    """What a process is told before it loads anything.

    Args:
        origin: what to load.
        folder: to work in.
        memory: mebibytes that it may use beyond what it starts with, 0 for no limit.
        variables: of the environment, besides those of the user's own process.
    """

    origin: Origin
    folder: str
    memory: int
    variables: Mapping[str, str]


def main(then: str, unpinned: Mapping[str, str | None], frameworks: Sequence[str] = (), **given: Any) -> None:
    """Import what ordinary runs import, fork the server, and become another program.

    Args:
        then: the module whose ``main`` that program is.
        unpinned: variables as the user's own process has them.
        frameworks: that files to come import; one that is missing is reported where the file is loaded.
        given: what that program is called with.
    """
    for name in (*_ALWAYS, *frameworks):
        with contextlib.suppress(Exception):
            import_module(name)
    if hasattr(os, "fork"):
        usual.update(unpinned)
        _start(usual)
    import_module(then).main(**given)


def is_open() -> bool:
    """Return whether this process can ask a server."""
    return _link is not None


def _start(environment: dict[str, str | None]) -> None:
    global _link
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    if os.fork() == 0:
        try:
            listener = _alone_with(its)
            Freezing().freeze()
            gc.enable()
            # In a thread, which has no callers: it is the main thread of each process that it forks.
            _thread.start_new_thread(_serve_all, (listener, parent, environment))
            while True:
                time.sleep(_GLANCE)
        finally:
            os._exit(0)
    its.close()
    _link = socket.socket(fileno=put_aside(mine.detach()))


def _alone_with(end: socket.socket) -> socket.socket:
    """Give back everything else that is open, and leave the group that is ended with the process that forked this."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.dup2(end.fileno(), 3)
    os.closerange(4, _HIGHEST)
    end.detach()
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, closefd=False)  # noqa: SIM115  # for as long as the process lives
        for place, mode in enumerate("rww")
    )
    return socket.socket(fileno=3)


def _serve_all(*given: Any) -> None:
    try:
        _serve(*given)
    finally:
        os._exit(0)


def _serve(listener: socket.socket, parent: int, environment: dict[str, str | None]) -> None:
    """Fork a process for each request; end it when its client has closed its lifeline."""
    children: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while os.getppid() == parent:
            for key, _ in selector.select(_GLANCE):
                if key.fd != listener.fileno():
                    selector.unregister(key.fd)
                    _end(children.pop(key.fd), key.fd)
                    continue
                word, passed, *_ = socket.recv_fds(listener, 1, 2)
                if not word:
                    break
                connection, life = passed
                with warnings.catch_warnings():  # of the other thread, which only sleeps
                    warnings.simplefilter("ignore")
                    pid = os.fork()
                if pid == 0:
                    listener.close()
                    for other in (life, *children):
                        os.close(other)
                    os.setpgid(0, 0)
                    perform(connection, environment)
                os.close(connection)
                children[life] = pid
                selector.register(life, selectors.EVENT_READ)
            else:
                continue
            break
    for life, pid in children.items():
        _end(pid, life)


def _end(pid: int, life: int) -> None:
    os.close(life)
    _kill(pid)


def _kill(pid: int) -> None:
    for end in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            end(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def perform(connection: int, environment: dict[str, str | None], load: Callable[[Origin], Player] = player_of) -> None:
    """Be the ordinary process: load, call, answer over a descriptor, and end."""
    reader, receive = frames.FrameReader(), partial(os.read, connection)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        opening: Opening = pickle.loads(reader.following(receive))
        with contextlib.suppress(OSError):  # it may be gone
            os.chdir(opening.folder)
        look_ordinary(opening.origin.path, environment)
        make_movable()
        os.environ.update(opening.variables)
        if load is player_of:
            sys.modules["__main__"] = ModuleType("__main__")
        limit_memory(opening.memory)

        def read() -> Request:
            frames.write(connection, _LOADED)
            request: Request = _Unpickler(io.BytesIO(reader.following(receive))).load()
            return request

        found = performed(lambda: load(opening.origin), read)
        turns = [[(item.outputs, item.gradients) for item in turn] for turn in found.turns]
        plain = turns, found.raised, found.unloaded, found.changed
        frames.write(connection, pickle.dumps(plain, pickle.HIGHEST_PROTOCOL))
    finally:
        os._exit(0)


class _Unpickler(pickle.Unpickler):
    """Finds the classes of a request where their module is no longer among the loaded ones."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class."""
        return getattr(call, name) if module == call.__name__ else super().find_class(module, name)


class Client:
    """One ordinary process, asked once.

    Args:
        end: the way to it.
        finish: ends it, whatever it does.
    """

    def __init__(self, end: socket.socket, finish: Callable[[], None]) -> None:
        self._end, self._finish = end, finish
        self._reader = frames.FrameReader()

    @staticmethod
    def of_copy(load: Callable[[Origin], Player]) -> Client:
        """Fork this process, which has loaded the function and compared nothing, and must not have threads.

        Args:
            load: makes the function of what the copy holds.
        """
        mine, its = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            mine.close()
            os.setpgid(0, 0)
            _thread.start_new_thread(perform, (its.detach(), {}, load))  # which has no callers that hold anything
            while True:
                time.sleep(_GLANCE)
        its.close()
        return Client(mine, lambda: _kill(pid))

    @staticmethod
    def of_server() -> Client:
        """Let the server fork a process.

        Raises:
            NoAnswerError: it cannot be reached.
        """
        if _link is None:
            raise NoAnswerError("cannot be started")
        mine, its = socket.socketpair()
        watched, lifeline = os.pipe()
        try:
            socket.send_fds(_link, [b"r"], [its.fileno(), watched])
        except OSError as error:
            mine.close()
            os.close(lifeline)
            raise NoAnswerError(f"cannot be started: {error}") from error
        finally:
            its.close()
            os.close(watched)
        return Client(mine, lambda: os.close(lifeline))

    def ask(self, opening: Opening, request: Request, loading: float, calling: float, until: float) -> Answers:
        """Tell the process what to do, and return its answers.

        Args:
            opening: what it loads, and how.
            request: what it calls then.
            loading: seconds that it has to load.
            calling: seconds that it has to call.
            until: when both have an end, by the monotonic clock.

        Raises:
            SilentError: it ended without an answer, or took longer than that.
            NoAnswerError: the request cannot be sent.
        """
        try:
            body = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # an object of the user's of any kind
            raise NoAnswerError(f"cannot be given the arguments: {type(error).__name__}: {error}") from error
        found = self._exchanged(pickle.dumps(opening), min(loading, until - time.monotonic()), UnloadedError)
        if found == _LOADED:
            found = self._exchanged(body, min(calling, until - time.monotonic()), SilentError)
        try:
            turns, raised, unloaded, changed = pickle.loads(found)
        except Exception as error:  # whatever a process that runs user code may have written
            raise SilentError("ended without an answer") from error
        return Answers([[Taken(*item) for item in turn] for turn in turns], raised, unloaded, changed)

    def _exchanged(self, body: bytes, seconds: float, silent: type[SilentError]) -> bytes:
        """Send a frame, and return the next one that comes."""
        until, what = time.monotonic() + seconds, "had not loaded it" if silent is UnloadedError else "gave no answer"

        def receive(size: int) -> bytes:
            self._end.settimeout(max(until - time.monotonic(), 0.001))
            return self._end.recv(size)

        self._end.settimeout(max(seconds, 0.001))
        try:
            self._end.sendall(frames.framed(body))
            return self._reader.following(receive)
        except TimeoutError:
            raise silent(f"{what} within {seconds:.3g} s") from None
        except Exception as error:
            raise silent("ended without an answer") from error

    def close(self) -> None:
        """End the process, whatever it does."""
        self._end.close()
        self._finish()
