"""Each function of a file has its own check, in which its inputs are found: what one does costs no other its verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opkit.checker import OpReport, Options, Status
from opkit.verify import RunOptions, run_targets
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.run import Outcome, Progress

pytestmark = [
    pytest.mark.skipif(not can_fork(), reason="isolation by processes of one's own"),
    pytest.mark.xdist_group("file functions"),  # one run of the file
]

QUICK = RunOptions(Options(effort=0.2), timeout=4, replay=False)

_LAYERS = """
import os
import sys

from paddle.autograd import PyLayer


class Wrong(PyLayer):
    factor = 3

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @classmethod
    def backward(cls, ctx, dy):
        (x,) = ctx.saved_tensor()
        return cls.factor * x * dy


class Loops(Wrong):
    @staticmethod
    def backward(ctx, dy):
        while True:
            pass


class LoopsForward(Wrong):
    @staticmethod
    def forward(ctx, x):
        while True:
            pass


class Dies(Wrong):
    @staticmethod
    def backward(ctx, dy):
        os.abort()


class Exits(Wrong):
    @staticmethod
    def backward(ctx, dy):
        sys.exit(0)


class Cased(Wrong):
    factor = 2


class ExitsInCases(Wrong):
    factor = 2


class Right(Wrong):
    factor = 2


def cases_Cased(rng):
    yield {"x": rng.standrd_normal(3)}


def cases_ExitsInCases(rng):
    sys.exit(0)
    yield {}
"""

EXPECTED = {
    "Wrong": (Status.FAIL, "GC101"),
    "Loops": (Status.ERROR, "GC192"),
    "LoopsForward": (Status.ERROR, "GC192"),
    "Dies": (Status.ERROR, "GC191"),
    "Exits": (Status.ERROR, "GC193"),
    "Cased": (Status.ERROR, "GC183"),
    "ExitsInCases": (Status.ERROR, "GC193"),
    "Right": (Status.PASS, ""),
}


def told(report: OpReport) -> tuple[Status, str]:
    return report.status, report.findings[0].code if report.findings else ""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("functions") / "f.py"
    path.write_text(_LAYERS)
    return path


@pytest.fixture(scope="module")
def whole(file: Path) -> Outcome:
    return run_targets([file], QUICK)


def test_each_function_of_a_file_keeps_its_verdict(whole: Outcome) -> None:
    """One that loops for ever, one that dies and one that exits cost themselves alone, within about the time limit."""
    assert {report.op.rpartition("::")[2]: told(report) for report in whole.report.ops} == EXPECTED
    assert whole.exit_status() == 3
    assert whole.seconds < 30


@pytest.mark.parametrize("name", ["Exits", "Cased", "Loops"])
def test_alone_a_function_is_told_in_the_same_words(whole: Outcome, file: Path, name: str) -> None:
    """Where a function is named, its report is that of the whole file."""
    (beside,) = (report for report in whole.report.ops if report.op.endswith(f"::{name}"))
    (alone,) = run_targets([f"{file}::{name}"], QUICK).report.ops
    assert told(alone) == told(beside)
    if name == "Cased":
        assert alone.findings == beside.findings
        assert alone.findings[0].message.startswith("the cases function raised AttributeError")
        assert "standrd_normal" in _LAYERS.splitlines()[alone.findings[0].where.line - 1]
    if name == "Exits":
        assert alone.findings[0].message == beside.findings[0].message
        assert alone.findings[0].message.startswith("called sys.exit (status 0) in the user's backward")


def test_what_was_found_is_shown_after_an_interruption(file: Path) -> None:
    """Ctrl-C while a function of a file loops leaves the reports of those that are done."""

    class Impatient(Progress):
        def planned(self, ops: tuple[str, ...]) -> None:
            assert len(ops) == len(EXPECTED)

        def done(self, report: OpReport) -> None:
            raise KeyboardInterrupt

    outcome = run_targets([file], replace(QUICK, timeout=30, jobs=1), Impatient())
    assert outcome.exit_status() == 130
    assert [told(report) for report in outcome.report.ops] == [EXPECTED["Wrong"]]
