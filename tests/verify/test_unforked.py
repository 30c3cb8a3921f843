"""Where nothing can be forked, each target has an interpreter of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.checker import Options
from opkit.verify import RunOptions, run_targets
from opkit.verify.workers import client as client_module
from opkit.verify.workers import start as start_module
from opkit.verify.workers.spawn import run_alone
from tests.verify.opdirs import SQUARE, make_op
from tests.verify.test_isolation import bad_kernel

QUICK = RunOptions(Options(effort=0.05), timeout=20, replay=False)


@pytest.fixture(autouse=True)
def no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that this platform cannot fork, here and in the workers."""
    monkeypatch.setattr(client_module, "can_fork", lambda: False)
    monkeypatch.setattr(start_module, "ZYGOTE", "tests.verify.unforked")


def test_good_and_wrong_ops_are_told_apart(here: Path) -> None:
    """The verdicts are those of forked workers."""
    make_op(here, "a_good")
    make_op(here, "b_wrong", SQUARE.replace("2 * x", "3 * x"))
    outcome = run_targets(["."], QUICK)
    assert [(op.op, op.status.value) for op in outcome.report.ops] == [
        ("a_good_forward", "pass"),
        ("b_wrong_forward", "fail"),
    ]


def test_a_crash_costs_its_own_target_only(here: Path) -> None:
    """A worker that dies is told, and the next target is checked."""
    make_op(here, "a_crashes", bad_kernel("import os", "os.abort()"))
    make_op(here, "b_good")
    first, second = run_targets(["."], QUICK).report.ops
    assert (first.op, first.findings[0].code) == ("a_crashes_forward", "GC191")
    assert second.status.value == "pass"


def test_a_hang_is_ended_at_the_limit(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that says nothing for too long is ended."""
    monkeypatch.setattr("opkit.verify.workers.spawn._limit", lambda target, options: 4.0)
    make_op(here, "hangs", bad_kernel("", "while True: pass"))
    (op,) = run_targets(["hangs"], QUICK).report.ops
    assert op.findings[0].code == "GC192"


def test_a_worker_that_cannot_start_is_told(here: Path) -> None:
    """An interpreter that leaves at once owes the whole target."""
    import subprocess
    import sys

    from opkit.verify.targets.target import resolve

    make_op(here, "one")
    (target,) = resolve(["one"])

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    (message,) = run_alone(0, target, QUICK, start)
    assert message.report.findings[0].code == "GC191"
