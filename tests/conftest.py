"""No test reaches beyond this machine; reads without a bound fail; workers are copies of a loaded interpreter."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from opkit import replaced
from opkit.blind.limits import limit_memory
from opkit.blind.marks import CHECKING
from tests import interpreters

#: What a bounded test may take beyond what is held before it: mebibytes, and seconds on a busy machine.
_MEBIBYTES, _SECONDS = 1024, 100


@pytest.fixture(autouse=True, scope="session")
def local() -> Iterator[None]:
    """Let sockets of this process be connected within the machine alone."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        is_stream = self.family in (socket.AF_INET, socket.AF_INET6) and self.type == socket.SOCK_STREAM
        if is_stream and address[0] != "localhost" and not ipaddress.ip_address(address[0]).is_loopback:
            pytest.fail(f"a test connects to {address[0]!r}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


@pytest.fixture(autouse=True, scope="session")
def copied_interpreters() -> None:
    """Let checks run in copies of an interpreter that has loaded opkit's workers."""
    if hasattr(os, "fork"):
        interpreters.stand_in(interpreters.address())


@pytest.fixture
def fresh_interpreters(copied_interpreters: None) -> Iterator[None]:
    """Let checks start interpreters, as they do outside of tests."""
    interpreters.stand_in(None)
    yield
    if hasattr(os, "fork"):
        interpreters.stand_in(interpreters.address())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Bound memory and time of a test marked ``bounded``: it fails where it would take the machine down or wait."""
    if item.get_closest_marker("bounded") is None or sys.platform == "win32":
        return (yield)
    with _bounds():
        try:
            return (yield)
        except MemoryError as error:
            traceback.clear_frames(error.__traceback__)  # they hold what filled the memory
    pytest.fail(f"the test took more than {_MEBIBYTES} MiB of memory")


@contextlib.contextmanager
def _bounds() -> Iterator[None]:
    import resource

    usual = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory(_MEBIBYTES)
    former = signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
        resource.setrlimit(resource.RLIMIT_AS, usual)


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the test took more than {_SECONDS} seconds")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Let a check in this process take opkit's functions anew: a test may have put others in their place."""
    yield
    for label in [label for label in replaced._KEPT if label.startswith(CHECKING)]:
        del replaced._KEPT[label]
