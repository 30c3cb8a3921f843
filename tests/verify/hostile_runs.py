"""Runs a hostile kernel and a harmless op after it, and says what is wrong with the outcome.

Holds no kernel.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import opkit
from opkit.checker import OpReport, Report
from tests.verify.hostile import Hostile, kernel_of
from tests.verify.opdirs import make_op

__all__ = ["Alone", "harmless_alone", "problems"]

#: What opkit says of itself: no verdict about a kernel.
_OURSELVES = "GC197"
_MEMORY = 1024


@dataclass(frozen=True)
class Alone:
    """The harmless op without a hostile one before it.

    Args:
        verdict: its status, and (code, status) of its findings.
        seconds: of the whole run, start-up included.
    """

    verdict: tuple[tuple[str, str], ...]
    seconds: float


def _verdict(report: OpReport) -> tuple[tuple[str, str], ...]:
    # Not how many checks hold: a short time limit, or a busy machine, leaves some of them out.
    return (("", report.status.value), *((item.code, item.status.value) for item in report.findings))


def harmless_alone(folder: Path) -> Alone:
    """Check the harmless op by itself."""
    started = time.perf_counter()
    (report,) = opkit.gradcheck([make_op(folder, "harmless")], jobs=1, memory=_MEMORY, replay=False).ops
    return Alone(_verdict(report), time.perf_counter() - started)


def problems(row: Hostile, folder: Path, alone: Alone) -> list[str]:
    """Run a hostile kernel, then the harmless op, and return what is wrong; nothing where everything works."""
    directory = make_op(folder, row.name, kernel_of(row))
    harmless = make_op(folder, "harmless")
    started = time.perf_counter()
    try:
        report = _within_reason([directory, harmless], row.timeout)
    except TimeoutError:
        return ["the run does not end"]
    seconds = time.perf_counter() - started
    found: list[str] = []
    mine = [op for op in report.ops if not op.op.startswith("harmless")]
    if len(mine) != 1:
        found.append(f"{len(mine)} reports of one op")
    for op in mine:
        found += _faults_of(op, row)
    theirs = [_verdict(op) for op in report.ops if op.op.startswith("harmless")]
    if theirs != [alone.verdict]:
        found.append("the next op's verdict is another than alone")
    # The start-up is measured in the same conditions: the machine may be busy.
    if seconds > row.timeout + 1 + 3 * alone.seconds:
        found.append(f"took longer than its {row.timeout:g} s")
    if row.leaves and _outlives(directory / "pid"):
        found.append("a process outlives the run")
    try:
        json.dumps(report.to_json(), allow_nan=False)
    except ValueError as error:
        found.append(f"the report is not JSON: {error}")
    return found


def _within_reason(targets: list[Path], timeout: float) -> Report:
    """Check, but give up (TimeoutError) long after the time limit is over."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(int(3 * timeout + 30))
    try:
        return opkit.gradcheck(targets, jobs=1, timeout=timeout, memory=_MEMORY, replay=False)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _faults_of(op: OpReport, row: Hostile) -> list[str]:
    found: list[str] = []
    if op.status.value not in row.may:
        found.append(f"{op.status.value}, not {' or '.join(sorted(row.may))}")
    if any(item.code == _OURSELVES for item in op.findings):
        found.append("opkit blames itself")
    if any(len(item.message) > 20_000 for item in op.checks):
        found.append("a message of more than 20,000 characters")
    return found


def _outlives(file: Path) -> bool:
    """Say whether the process whose id a file holds is still there a second later."""
    if not file.exists():
        return False
    stat = Path("/proc") / file.read_text().strip() / "stat"
    until = time.perf_counter() + 1
    while time.perf_counter() < until:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.02)
    return True
