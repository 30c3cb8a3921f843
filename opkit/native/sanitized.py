"""SanitizedLibrary: a library with address and undefined-behaviour sanitizers, in a process that has their runtime.

A kernel that does what it must not ends that process; the next call gets another one. How the library was built is not
known here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from opkit.errors import KernelError, Location
from opkit.native.diagnosing import is_users
from opkit.native.library import CppLibrary, Plan, Registered, load_library
from opkit.native.signature import Signature
from opkit.paths import StrPath

_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from opkit.native.sanitized import serve; serve(sys.argv[2])"
)
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0:allocator_may_return_null=1:color=never",
    "UBSAN_OPTIONS": "print_stacktrace=1:color=never",
}
#: The runtime needs more address space than a worker may have; the shell itself must do without it.
_UNLIMITED = ("/bin/sh", "-c", 'ulimit -S -v unlimited; LD_PRELOAD="$1"; export LD_PRELOAD; shift; exec "$@"', "sh")
#: Seconds after which a call ends the process that it runs in.
_LONGEST = 300
#: So many findings are enough: each costs the start of a process.
_MOST = 4
_UNDEFINED = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: runtime error: (?P<text>.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"ERROR: AddressSanitizer: (?P<text>[\w-]+)")
_ACCESS = re.compile(r"^(?P<text>(?:READ|WRITE) of size \d+)", re.MULTILINE)
_REGION = re.compile(r"is located (?P<text>\d+ bytes (?:after|before|inside|to the right|to the left)[^\[\n]*region)")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in .*? (?P<file>/[^\n]*?):(?P<line>\d+)(?::\d+)?$", re.MULTILINE)


class SanitizerError(KernelError):
    """A kernel did what it must not: the sanitizers' words, at the user's line."""


class SanitizedLibrary:
    """A library of kernels that runs in a process of its own; it serves as ``CppLibrary`` does.

    Args:
        path: the library.
        runtime: the sanitizers' runtime, as the compiler names it.
    """

    def __init__(self, path: StrPath, runtime: str) -> None:
        self.path = os.fspath(path)
        self.found: list[SanitizerError] = []
        self._runtime = runtime
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._owner = self.generation = 0

    def registrations(self) -> tuple[Registered, ...]:
        """Return all registrations."""
        found: tuple[Registered, ...] = self.ask("registrations", None)
        return found

    def prepare(self, signature: Signature) -> SanitizedPlan:
        """Return the plan of an op, as ``CppLibrary.prepare`` does."""
        return SanitizedPlan(self, signature)

    def ask(self, what: str, given: Any) -> Any:
        """Return what the process answers.

        Raises:
            SanitizerError: the sanitizers ended it.
            KernelError: it reports one, or it died otherwise.
        """
        if len(self.found) >= _MOST:
            raise self.found[-1]
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((what, given), process.stdin)
            process.stdin.flush()
            is_good, answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise self._ended(process) from None
        if not is_good:
            message, where, help = answer
            raise KernelError(message, where=where, help=help)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the process that has the library; one that another process started is not used."""
        if self._process is None or self._owner != os.getpid():
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            here = json.dumps([os.path.abspath(item) for item in sys.path])
            self._process = subprocess.Popen(
                [*_UNLIMITED, self._runtime, sys.executable, "-c", _CHILD, here, self.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env={**os.environ, **_OPTIONS},
            )
            self._owner = os.getpid()
            self.generation += 1
        return self._process

    def _ended(self, process: subprocess.Popen[bytes]) -> KernelError:
        """Return the error about a process that has ended."""
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        status = process.wait()
        assert self._said is not None
        self._said.seek(0)
        error = finding_of(self._said.read().decode("utf-8", errors="replace"), status)
        self._process = None
        if isinstance(error, SanitizerError):
            self.found.append(error)
        return error


class SanitizedPlan:
    """A kernel ready for arrays, as ``Plan``; its state, where it has one, begins anew in each process.

    Args:
        library: where it is from.
        signature: of the op.

    Raises:
        KernelError: as ``CppLibrary.prepare``.
    """

    def __init__(self, library: SanitizedLibrary, signature: Signature) -> None:
        self.library, self.signature = library, signature
        self._generation = self._number = -1
        self.where: Location
        self.in_place: tuple[tuple[int, int], ...]
        self._prepare()

    def _prepare(self) -> None:
        self._number, self.where, self.in_place = self.library.ask("prepare", self.signature)
        self._generation = self.library.generation

    def run(self, arrays: tuple[np.ndarray, ...]) -> None:
        """Compute into the outputs, as ``Plan.run``."""
        self.library._running()
        if self._generation != self.library.generation:
            self._prepare()
        for array, made in zip(arrays, self.library.ask("run", (self._number, arrays))):
            if array.flags.writeable:
                array[...] = made


def finding_of(said: str, status: int) -> KernelError:
    """Return what the sanitizers wrote as an error at the user's line; what else ended a process, in words."""
    undefined, address = _UNDEFINED.search(said), _ADDRESS.search(said)
    frames = [Location(item["file"], int(item["line"])) for item in _FRAME.finditer(said)]
    users = next((item for item in frames if is_users(item.file) and os.path.isfile(item.file)), None)
    if undefined is not None:
        place = Location(undefined["file"], int(undefined["line"]))
        return SanitizerError(
            f"undefined behaviour: {undefined['text']}", where=place if is_users(place.file) else users
        )
    if address is not None:
        more = [match["text"] for match in (_ACCESS.search(said), _REGION.search(said)) if match]
        return SanitizerError(f"AddressSanitizer: {', '.join([address['text'], *more])}", where=users)
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return KernelError(f"the C++ kernel ended its process ({how}) {last[:200]}".rstrip())


def serve(path: str) -> None:
    """Answer what a SanitizedLibrary asks, on the standard streams; in the process that has the runtime."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels print is no answer
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # a call that hangs ends with the process that asked
    library, plans = load_library(path), list[Plan]()
    while True:
        try:
            what, given = pickle.load(requests)
        except EOFError:
            return
        signal.alarm(_LONGEST)
        try:
            answer = True, _answer(library, plans, what, given)
        except KernelError as error:
            answer = False, (error.message, error.where, error.help)
        signal.alarm(0)
        pickle.dump(answer, answers)
        answers.flush()


def _answer(library: CppLibrary, plans: list[Plan], what: str, given: Any) -> Any:
    if what == "registrations":
        return library.registrations()
    if what == "prepare":
        plan = library.prepare(given)
        plans.append(plan)
        return len(plans) - 1, plan.where, plan.in_place
    number, arrays = given
    # Each array in memory of its own, whose ends the runtime watches; one that was given twice stays one.
    own: dict[int, np.ndarray] = {id(array): np.array(array) for array in arrays}
    made: Sequence[np.ndarray] = [own[id(array)] for array in arrays]
    plans[number].run(tuple(made))
    return list(made)
