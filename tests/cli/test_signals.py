"""A command that is ended, at any time, ends with the status of the signal, and what it printed is whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opkit.__main__ import main
from opkit.cli import ends
from opkit.cli.edge import Edge
from opkit.project import scaffold
from opkit.signals import Terminated, terminable, undisturbed

ROOT = Path(__file__).resolve().parents[2]

if sys.platform == "win32":
    pytest.skip("signals are of another kind there", allow_module_level=True)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt: a shell's background job starts with SIGINT ignored, and so would what it starts."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


def test_a_run_that_is_ended_prints_whole_json(tmp_path: Path) -> None:
    """At whatever time a signal comes: JSON of what was finished, or nothing where Python had only just started.

    More often, and at random times: ``python -m tests.campaigns.endings``.
    """
    for name in ("first", "second"):
        scaffold(name, tmp_path)
    command = [sys.executable, "-m", "opkit", "gradcheck", ".", "--format", "json", "--no-replay", "--effort", "0.2"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
    whole = time.monotonic() - started
    kinds = set()
    term, interrupt = (signal.SIGTERM, 143), (signal.SIGINT, 130)
    for share, (number, status) in ((0.45, term), (0.65, interrupt), (0.85, term)):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        time.sleep(share * whole)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert b"Traceback" not in err
        # Before opkit is loaded, and when all is printed, the signal itself ends Python.
        assert process.returncode in (status, 0, -number), (share, process.returncode, err)
        if out:
            assert len(json.loads(out)["ops"]) <= 2
        kinds.add(process.returncode)
        assert subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).returncode != 0
    assert kinds != {0}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_ended_within_a_kernel(tmp_path: Path, number: int, status: int) -> None:
    """While a kernel runs, the status is the signal's, the output is one JSON object, and the kernel ends too."""
    scaffold("my_op", tmp_path)
    ready = tmp_path / "ready"
    kernel = tmp_path / "my_op" / "my_op_py_kernel.py"
    waits = f"    import pathlib, time\n\n    pathlib.Path({str(ready)!r}).touch()\n    time.sleep(100)\n"
    kernel.write_text(kernel.read_text().replace("    (x,) = args\n", waits + "    (x,) = args\n"))
    process = subprocess.Popen(
        [sys.executable, "-m", "opkit", "gradcheck", "my_op", "--format", "json", "--no-replay"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert b"Traceback" not in err
    assert json.loads(out)["schema"] == 1
    assert subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("place", [(Edge, "make_context"), (ends, "_check_folder")], ids=["before", "within"])
@pytest.mark.parametrize(("kind", "status"), [(Terminated, 143), (KeyboardInterrupt, 130)])
def test_a_command_that_is_ended_has_the_status_of_the_signal(
    monkeypatch: pytest.MonkeyPatch, place: tuple[object, str], kind: type[BaseException], status: int
) -> None:
    """Also while its options are parsed, where typer knows one signal only."""

    def ended(*args: object, **options: object) -> None:
        raise kind

    monkeypatch.setattr(*place, ended)
    monkeypatch.setattr(sys, "argv", ["opkit", "ops"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == status


def raised(number: int, times: int, done: list[int]) -> None:
    """Raise a signal that many times within a block that is not to be disturbed."""
    with terminable(), undisturbed():
        for count in range(times):
            os.kill(os.getpid(), number)
            done.append(count)


def test_output_is_finished_before_a_signal_is_raised() -> None:
    """The first signal waits for the end of the block; the second one does not."""
    done: list[int] = []
    with pytest.raises(Terminated):
        raised(signal.SIGTERM, 1, done)
    with pytest.raises(KeyboardInterrupt):
        raised(signal.SIGINT, 3, done)
    assert done == [0, 0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_opkit_test(tmp_path: Path) -> None:
    """The op that is being checked does not fail; what was finished is counted, and the status is 130."""
    for name in ("first", "second"):
        scaffold(name, tmp_path)
    mark = tmp_path / "begun"
    kernel = tmp_path / "second" / "second_py_kernel.py"
    waits = f"    import pathlib, time\n    pathlib.Path({str(mark)!r}).touch()\n    time.sleep(60)\n"
    kernel.write_text(kernel.read_text().replace("    (x,) = args\n", f"{waits}    (x,) = args\n", 1))
    process = subprocess.Popen(
        [sys.executable, "-m", "opkit", "test", "first", "second", "--", "-k", "gradcheck"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "1 passed" in out
    assert "failed" not in out
    assert subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).returncode != 0
