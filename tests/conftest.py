"""No test reaches beyond this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest


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
