"""Checks on a cluster: a directory travels, is checked elsewhere, and its report is the one that a run here gives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opkit.checker import CheckResult, OpReport, Status
from opkit.verify.options import RunOptions
from opkit.verify.run import run_targets
from opkit.verify.targets.target import resolve
from opkit.verify.workers import cluster
from opkit.verify.workers.ledger import Checked

SAMPLES = Path(__file__).resolve().parents[2] / "sample_ops"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(SAMPLES / "user_relu", tmp_path / "ops" / "user_relu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(report: Any) -> Any:
    found = json.loads(json.dumps(report.to_json(), default=str))
    for op in found["ops"]:
        op["seconds"] = 0
    return found


def _uncounted(op: OpReport) -> list[CheckResult]:
    """Return the results of an op without their cases' numbers: a busy machine has time for fewer."""
    return [replace(item, cases=0) for item in op.checks]


def test_a_directory_is_checked_elsewhere(folder: Path) -> None:
    """The task of a worker: files in, messages out, with the paths that the user knows."""
    (target,) = resolve(["ops"])
    options = RunOptions.of({"jobs": 1, "replay": False, "effort": 0.05})
    _, place, messages = cluster._check_there(cluster._errand(target, options))
    assert place == os.path.join("ops", "user_relu")
    reports = [message.report for message in messages if isinstance(message, Checked)]
    (expected,) = run_targets(["ops"], options).report.ops
    assert [(item.dir, item.status, _uncounted(item)) for item in reports] == [
        (expected.dir, expected.status, _uncounted(expected))
    ]


def test_paths_in_messages() -> None:
    """Texts change in every part of a message; outcomes, which are texts too, stay what they are."""
    result = CheckResult("build", Status.ERROR, "SPEC001", "in /tmp/x/outside/op/f.py")
    found = cluster._renamed(cluster._renamed([result], "/tmp/x/", ""), "outside/op", "/home/me/op")
    assert found == [CheckResult("build", Status.ERROR, "SPEC001", "in /home/me/op/f.py")]
    assert found[0].status is Status.ERROR
    assert cluster._renamed(result, "/nowhere", "") is result


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_the_report_is_that_of_a_run_here(folder: Path) -> None:
    """Verdicts, order and JSON; a worker that is lost while it checks costs no op its verdict."""
    pytest.importorskip("distributed", reason="Dask is not installed: a cluster cannot be started")
    from opkit.distribute.cluster import connection

    shutil.copytree(SAMPLES / "swish", folder / "ops" / "swish")
    given = {"effort": 0.2, "replay": False}
    expected = told(run_targets(["ops"], RunOptions.of(given)).report)
    try:
        found = run_targets(["ops"], RunOptions.of({**given, "cluster": "local:2"}))
        assert told(found.report) == expected
        process = connection.connect("local:2")._processes[0]
        killer = threading.Timer(0.3, lambda: os.kill(process.pid, signal.SIGKILL))
        killer.start()
        started = time.monotonic()
        found = run_targets(["ops"], RunOptions.of({**given, "cluster": "local:2"}))
        killer.join()
        assert told(found.report) == expected
        assert time.monotonic() - started < 60
    finally:
        connection._open.pop("local:2").close()
