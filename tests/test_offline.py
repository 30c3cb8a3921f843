"""Neither opkit nor its tests need a network. The README's tour is run without one, too."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from opkit.project import scaffold
from tests.cli.test_commands import opkit
from tests.offline import offline, reached


def test_this_process_reaches_nothing() -> None:
    """A connection beyond the machine fails, in every test."""
    with socket.socket() as one, pytest.raises(pytest.fail.Exception, match=r"a test connects to '192\.0\.2\.1'"):
        one.connect(("192.0.2.1", 80))


def test_what_a_kernel_reaches_is_noticed(tmp_path: Path) -> None:
    """The trap of the tests that run without a network works in the workers of a check, too."""
    scaffold("my_op", tmp_path)
    kernel = tmp_path / "my_op" / "my_op_py_kernel.py"
    kernel.write_text("import socket\n\nsocket.socket().connect_ex(('127.0.0.1', 9))\n" + kernel.read_text())
    ran = opkit(tmp_path, "gradcheck", "my_op", "--effort", "0.02", **offline(tmp_path))
    assert "Network is unreachable" in ran.stdout
    assert "socket.connect (('127.0.0.1', 9),)" in reached(tmp_path)
