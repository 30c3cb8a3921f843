"""`opkit watch`: what changes is checked again, soon, and nothing else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opkit.project import scaffold
from tests.cli.test_commands import opkit

ROOT = Path(__file__).resolve().parents[2]


class Watcher:
    """A running `opkit watch`, whose output is collected."""

    def __init__(self, folder: Path, *argv: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / ".cache"), "PYTHONUNBUFFERED": "1"}
        self.lines: list[str] = []
        # A shell's background job starts with SIGINT ignored, and so would what it starts.
        old = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "opkit", "watch", *argv],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        signal.signal(signal.SIGINT, old)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def until(self, count: int) -> str:
        """Wait for so many checks in all; return what was printed."""
        for _ in range(1200):
            text = "".join(self.lines)
            if text.count("Ctrl-C ends") >= count:
                return text
            assert self.process.poll() is None, text
            time.sleep(0.1)
        raise AssertionError("".join(self.lines))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two ops, checked with little effort."""
    pytest.importorskip("watchfiles", reason="watchfiles is not installed: nothing can be watched")
    for name in ("one", "two"):
        scaffold(name, tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.opkit]\neffort = 0.05\n")
    return tmp_path


@pytest.fixture
def watcher(folder: Path) -> Iterator[Watcher]:
    """Run the command, which Ctrl-C ends also where it is ignored, as in a shell's background jobs; and end it."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = Watcher(folder)
    yield watcher
    signal.signal(signal.SIGINT, old)
    watcher.close()


def beyond(text: str, begun: float) -> float:
    """Return the seconds since then that the last check did not take itself."""
    return time.monotonic() - begun - float(re.findall(r"checked in ([\d.]+) s", text)[-1])


def test_only_what_changed_is_checked_again_and_soon(folder: Path, watcher: Watcher) -> None:
    """A mistake is found, its repair too, and the count is of all that are watched; Ctrl-C ends with 130.

    From the change to the report, beyond what the check takes: 0.3 s, and as much again for a busy machine.
    """
    first = watcher.until(1)
    assert "2 pass of 2 watched" in first
    kernel = folder / "two" / "two_py_kernel.py"
    right = kernel.read_text()
    begun = time.monotonic()
    kernel.write_text(right.replace("return dy *", "return 2 * dy *"))
    text = watcher.until(2)
    waited, changed = [beyond(text, begun)], text[len(first) :]
    assert "FAIL GC101" in changed
    assert "one_forward" not in changed
    assert "1 pass, 1 fail of 2 watched; not clean: two" in changed
    begun = time.monotonic()
    kernel.write_text(right)
    text = watcher.until(3)
    waited.append(beyond(text, begun))
    assert "2 pass of 2 watched" in text[len(first) + len(changed) :]
    assert min(waited) < 0.6
    os.killpg(watcher.process.pid, signal.SIGINT)
    assert watcher.process.wait(timeout=30) == 130


def test_what_does_not_build_is_shown_and_a_new_op_is_seen(folder: Path, watcher: Watcher) -> None:
    """Neither ends the command."""
    watcher.until(1)
    spec = folder / "one" / "one_cpp_def.cpp"
    right = spec.read_text()
    spec.write_text(right.replace(".Input(", ".Inptu(", 1))
    assert "did you mean 'Input'?" in watcher.until(2)
    spec.write_text(right)
    watcher.until(3)
    scaffold("three", folder)
    for _ in range(600):
        if "of 3 watched" in "".join(watcher.lines):
            return
        time.sleep(0.1)
    raise AssertionError("".join(watcher.lines))


def test_without_watchfiles_the_extra_is_named(tmp_path: Path) -> None:
    """In one line, and the status is that of a usage error."""
    (tmp_path / "watchfiles.py").write_text("raise ModuleNotFoundError('none', name='watchfiles')\n")
    done = opkit(tmp_path, "watch", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2
    assert "pip install 'opkit[watch]'" in done.stderr
