"""Command lines in copies of a process that has loaded opkit: a fresh interpreter takes longer than most commands.

Only for commands whose start is not the point: tests/cli/test_run.py and test_signals.py start interpreters.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.interpreters import address

ROOT = Path(__file__).resolve().parents[2]
_OWN = ("watch", "bench", "--version")
#: Forks for each line: {"argv", "folder", "env", "to"} in, the exit status out.
_SERVER = """
import atexit, contextlib, gc, importlib, json, os, pkgutil, sys, threading, traceback
import opkit.paddle, opkit.oneflow, opkit.ops, opkit.project.amending, opkit.spec, opkit.verify.run, jinja2, pytest, numpy.ma
from opkit import cli, reporters
from opkit.__main__ import main
from opkit.verify.targets.load import preload
from opkit.verify.targets.target import TargetKind
from tests import interpreters

for package in (cli, reporters):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
with contextlib.suppress(ImportError):
    import typer._adapters  # what reads flags imports it then
with contextlib.suppress(ImportError):  # sympy may be missing
    import opkit.formula.definition, opkit.formula.writing
opkit.ops.BUILTIN.load()
preload(TargetKind)
interpreters.stand_in(sys.argv[1])
gc.freeze()

for line in sys.stdin:
    row = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(row["folder"])
        os.environ.clear()
        os.environ.update(row["env"])
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(os.path.join(row["to"], name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["opkit", *row["argv"]]
        sys.path[0] = row["folder"]
        status = 0
        try:
            main()
        except SystemExit as error:
            status = error.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class _Server:
    """The process, and the folder of its copies' streams."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _SERVER, address()]
        self._process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.close)

    def run(self, argv: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command line in a folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        row = {"argv": argv, "folder": str(folder), "env": env, "to": self._folder.name}
        self._process.stdin.write(json.dumps(row) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        streams = [(Path(self._folder.name) / name).read_text(errors="replace") for name in ("out", "err")]
        return subprocess.CompletedProcess(["opkit", *argv], status, *streams)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()


@cache
def _server() -> _Server:
    return _Server()


def may_be_served(argv: list[str], env: dict[str, str]) -> bool:
    """Say whether a copy can stand for a fresh interpreter: not where what is set is read when one starts."""
    is_own = not argv or argv[0] in _OWN or "--threads" in argv or not hasattr(os, "fork")
    return not is_own and not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env)


def served(argv: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command line of opkit in a folder, with nothing but these variables set."""
    return _server().run(argv, folder, env)
