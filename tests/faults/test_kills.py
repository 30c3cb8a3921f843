"""Whenever a run is killed, what it saves is as it was or new, as a whole, and the next run leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.faults.scenarios import SCENARIOS

#: Every third point is enough here; ``python -m tests.faults.killing 1 FOLDER`` takes all of them.
STRIDE = 3
ROOT = Path(__file__).resolve().parents[2]

if sys.platform == "win32":
    pytest.skip("needs fork", allow_module_level=True)


@pytest.fixture(scope="module")
def kills() -> Any:
    """Go through all scenarios in one process: starting one takes longer than a scenario."""
    quick = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk takes its time for each of a thousand syncs
    with TemporaryDirectory(prefix="opkit-kills-", dir=quick) as folder:
        command = [sys.executable, "-m", "tests.faults.killing", str(STRIDE), folder]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.xdist_group("kills")
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kill_at_any_step_leaves_old_or_new(kills: Any, name: str) -> None:
    """At writes, flushes, renames and so on: old or new at once, and new and nothing else after the next run."""
    found = kills[name]
    assert found["wrong"] == []
    assert found["points"] >= 5
    assert found["states"]["new later"] == found["points"]
    assert found["states"]["old at once"] >= 2
