"""The verdict of an op does not depend on the run, the process, the number of workers or what stands beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opkit
from tests.verify.opdirs import SQUARE, make_op

#: Kernels whose verdicts are near some edge: numbers of every size, one dtype only, wrong by little, kinks.
KERNELS = {
    "right": SQUARE,
    "wrong": SQUARE.replace("2 * x * dy", "2.00001 * x * dy"),
    "kinked": SQUARE.replace("x * x", "abs(x)").replace("2 * x * dy", "np.sign(x) * dy"),
    "rounded": SQUARE.replace("x * x", "np.round(x, 9) * x"),
}
CASES = """import numpy as np


def cases(rng):
    yield {"x": np.array([5e-324, -1e-310, 0.0, 1e-200, 3.0, -1e150])}
    yield {"x": np.zeros((0, 2), np.float32)}
    yield {"x": rng.standard_normal((2, 3)).astype(np.float32)}
"""


def verdicts(report: dict[str, Any]) -> str:
    """Return all that a report says, without the time it took, in one text."""
    for op in report["ops"]:
        op.pop("seconds")
    return json.dumps(report, indent=1, sort_keys=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Op directories, half of them with cases."""
    made = tmp_path_factory.mktemp("ops")
    for number, (name, kernel) in enumerate(KERNELS.items()):
        make_op(made, name, kernel, CASES if number % 2 else "")
    return made


@pytest.fixture(scope="module")
def expected(folder: Path) -> str:
    """What a run with one worker says."""
    report = opkit.gradcheck([folder], jobs=1, replay=False, effort=0.1).to_json()
    assert {op["status"] for op in report["ops"]} == {"pass", "fail"}
    return verdicts(report)


def test_more_workers_say_the_same(folder: Path, expected: str) -> None:
    """Every check, its numbers and its case, in the same order."""
    assert verdicts(opkit.gradcheck([folder], jobs=3, replay=False, effort=0.1).to_json()) == expected


def test_another_process_says_the_same(folder: Path, expected: str) -> None:
    """With another hash seed, on the command line."""
    options = ["--format", "json", "--no-replay", "--effort", "0.1"]
    command = [sys.executable, "-m", "opkit", "gradcheck", str(folder), *options]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "XDG_CACHE_HOME": str(folder.parent)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder.parent)
    assert verdicts(json.loads(ran.stdout)) == expected.replace(f"{folder.parent}{os.sep}", ""), ran.stderr


def test_an_op_alone_is_judged_as_among_others(folder: Path, expected: str) -> None:
    """Its place in the run does not matter."""
    alone = opkit.gradcheck([folder / "rounded"], jobs=1, replay=False, effort=0.1).to_json()["ops"][0]
    alone.pop("seconds")
    assert alone in json.loads(expected)["ops"]
