"""Processes without a network: what they and their children try to reach is refused, and written down."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["offline", "reached"]

#: Read by every Python at its start. Sockets between processes of one machine have no host.
_AT_START = '''import os
import sys

_NAMED = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
_SENT = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"}


def _refuse(event, args):
    if event in _NAMED or (event in _SENT and isinstance(args[1], tuple)):
        with open(os.environ["OPKIT_TESTS_REACHED"], "a") as stream:
            stream.write(f"{event} {args[1:]} {sys.argv}\\n")
        raise OSError(101, "Network is unreachable")


sys.addaudithook(_refuse)
'''


def offline(folder: Path) -> dict[str, str]:
    """Return the environment of a process that has no network; ``folder`` keeps what that needs."""
    place = folder / ".offline"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(_AT_START)
    paths = [str(place), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "OPKIT_TESTS_REACHED": str(place / "reached")}


def reached(folder: Path) -> str:
    """Return what processes of ``offline`` tried to reach, a line each."""
    trace = folder / ".offline" / "reached"
    return trace.read_text() if trace.exists() else ""
