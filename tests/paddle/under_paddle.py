"""Scripts under the real Paddle: each in a copy of an interpreter that has imported it, which takes longer than most of them."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

#: Forks for each line: a script, and the file for what it prints, in; an empty line out. zlib comes first, since
#: Paddle's library has functions of the same names, which end the process.
_SERVER = """
import json, os, runpy, signal, sys, traceback, zlib
import paddle

for line in sys.stdin:
    script, to = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        signal.alarm(300)
        sys.argv[:], sys.path[0] = [script], os.path.dirname(script)
        try:
            runpy.run_path(script, run_name="__main__")
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print(flush=True)
"""


def paddle_python() -> str | None:
    """Return an interpreter that has the real Paddle, or None."""
    named = os.environ.get("OPKIT_PADDLE_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("paddle") is not None else None


@cache
def _server() -> tuple[subprocess.Popen[str], str]:
    folder = TemporaryDirectory()
    words = [str(paddle_python()), "-c", _SERVER]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, text=True, **streams)

    def close() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(close)
    return process, str(Path(folder.name) / "printed")


def printed(script: Path) -> str:
    """Run a script, and return what it prints, without the lines of Paddle's log."""
    process, to = _server()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([str(script), to]) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "\n"
    lines = Path(to).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not re.match(r"[WI]\d{4} ", line))
