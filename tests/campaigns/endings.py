"""Commands that write, ended by a signal at random times; a campaign, not part of the tests.

``python -m tests.campaigns.endings KILL|INT|TERM TIMES [SEED]``: each command is ended so often, at any time of its run. Its
exit status must be the signal's (or that of a run that had come to its end), its standard output whole JSON or nothing,
each of its reports whole or absent, no process of it may be left, and the next run must leave no scratch. Exits with 1
where something else happened. The last figures are in docs/reliability.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from opkit.project import scaffold
from opkit.scratch import is_scratch

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
_REPORTS = ["--report", "html=r.html", "--report", "json=r.json", "--report", "junit=r.xml"]
_CHECK = ["gradcheck", "my_op", "--effort", "0.02", "--format", "json"]
COMMANDS: tuple[Sequence[str], ...] = (
    ["new", "other", "--job", "--force"],
    ["new", "--ci", "--force"],
    ["build", "my_op", "--format", "json"],
    [*_CHECK, *_REPORTS],
    ["gradcheck", "wrong", "--effort", "0.02", "--format", "json"],
    ["export", "my_op", "--to", "jax", "--no-check", "--force", "--output", "out.py"],
    ["sbp", "my_op", "--format", "json", "--report", "html=r.html"],
)
#: Where Python has not loaded opkit yet, or has left it already, the signal itself ends it.
STATUSES = {
    "KILL": (-signal.SIGKILL, 0, 1),
    "INT": (130, 0, 1, -signal.SIGINT),
    "TERM": (143, 0, 1, -signal.SIGTERM),
}


def _prepare(folder: Path) -> None:
    for name in ("my_op", "wrong"):
        scaffold(name, folder)
    kernel = folder / "wrong" / "wrong_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("return dy", "return 1.01 * dy"))


def _marked(mark: str) -> list[int]:
    """Return the processes whose environment holds a mark."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and mark.encode() in Path("/proc", entry, "environ").read_bytes():
                found.append(int(entry))
    return found


def _check_reports(folder: Path) -> None:
    for path in folder.glob("r.*"):
        text = path.read_text()
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".xml":
            ElementTree.fromstring(text)
        else:
            assert text.rstrip().endswith("</html>"), f"{path.name} is torn"


def _ended(words: Sequence[str], folder: Path, name: str, after: float) -> int:
    """End one run; return its status, or raise an AssertionError with what was wrong."""
    mark = uuid.uuid4().hex
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / ".cache"), "OPKIT_MARK": mark}
    command = [sys.executable, "-m", "opkit", *words]
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(after)
    process.send_signal(getattr(signal, f"SIG{name}"))
    out, err = process.communicate(timeout=60)
    assert process.returncode in STATUSES[name], f"status {process.returncode}: {err[-300:]!r}"
    if out and "json" in words and name != "KILL":
        json.loads(out)
    _check_reports(folder)
    end = time.monotonic() + 5
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left, f"processes {left} are left"
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    scratch = [str(path) for path in folder.rglob(".*") if is_scratch(path.name) or path.name.endswith(".opkit-save")]
    assert not scratch, f"left behind: {scratch}"
    return process.returncode


def main(name: str, times: int, seed: int = 0) -> int:
    """End each command so often."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and what it starts
    rng = random.Random(seed)
    failed = 0
    for words in COMMANDS:
        statuses: Counter[int] = Counter()
        with TemporaryDirectory() as top:
            folder = Path(top)
            _prepare(folder)
            started = time.monotonic()
            env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / ".cache")}
            subprocess.run([sys.executable, "-m", "opkit", *words], cwd=folder, env=env, capture_output=True, check=False)
            whole = time.monotonic() - started
            for _ in range(times):
                after = rng.uniform(0.02, 1.05) * whole
                try:
                    statuses[_ended(words, folder, name, after)] += 1
                except (AssertionError, ValueError, ElementTree.ParseError) as error:
                    failed += 1
                    print(f"opkit {' '.join(words)}, after {after:.2f} of {whole:.2f} s: {error}")
        print(f"SIG{name} opkit {' '.join(words[:2])}: {dict(statuses)}", flush=True)
    print(f"{times * len(COMMANDS)} runs, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:])))
