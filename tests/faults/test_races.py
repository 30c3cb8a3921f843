"""Processes that save and read one thing at once: no save fails, no reader sees anything but one save."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

if sys.platform == "win32":
    pytest.skip("needs fork", allow_module_level=True)


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Let three writers and two readers run for a second on each kind of save."""
    command = [sys.executable, "-m", "tests.faults.racing", "1.0", str(tmp_path_factory.mktemp("races"))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.xdist_group("races")
@pytest.mark.parametrize("name", ["checkpoint", "static.save", "paddle.save"])
def test_racing_saves_and_readers_see_whole_saves(races: Any, name: str) -> None:
    """No save is refused, nothing is called damaged or missing, and all that is read is of one save."""
    found = races[name]
    assert found["wrong"] == []
    assert found["saves"] >= 5
    assert found["reads"] >= 5
    assert found["left"] == []


@pytest.mark.xdist_group("races")
def test_two_runs_of_new_make_one_op(races: Any) -> None:
    """Of many that start at once one makes the op and its job, and the others are refused."""
    found = races["opkit new"]
    assert found["wrong"] == []
    assert found["made"] == found["rounds"]
