"""There: an interpreter that a worker of a cluster starts, by exec, to check one op directory as a run here would.

It reads what to check from its stdin and writes all messages to its stdout; it ends when its stdin does.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
from typing import BinaryIO

from opkit.verify.isolation.blame import show_paths_from
from opkit.verify.workers.client import run_isolated


def main() -> None:
    """Check what stdin says."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what opkit or an op prints must not get between the messages
    requests = sys.stdin.buffer
    (size,) = struct.unpack("!Q", requests.read(8))
    targets, options = pickle.loads(requests.read(size))
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    show_paths_from(os.getcwd())
    pickle.dump(list(run_isolated(targets, options)), answers)
    answers.flush()
    os._exit(0)


def _end_with(stream: BinaryIO) -> None:
    """End this process when its parent does; what it has started ends with it."""
    stream.read()
    os._exit(1)


if __name__ == "__main__":
    main()
