"""Hostile kernels: each ends in its time with a verdict about it, and leaves the next op's verdict as it was.

A part of them is run here; all with OPKIT_HOSTILE=whole, or by ``python -m tests.campaigns.hostile``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.verify.hostile import HOSTILE, Hostile, kernel_of
from tests.verify.hostile_not_yet import NOT_YET
from tests.verify.hostile_runs import Alone, harmless_alone, problems

#: What takes too long today is left to the campaign, where it is expected to fail too.
QUICK = tuple(row for row in HOSTILE if row.quick and "took longer" not in NOT_YET.get(row.name, ""))
ROWS = HOSTILE if os.environ.get("OPKIT_HOSTILE") == "whole" else QUICK


def params() -> list[object]:
    """Return one test per kernel."""
    marks = {name: [pytest.mark.xfail(reason=reason, strict=True)] for name, reason in NOT_YET.items()}
    return [pytest.param(row, id=row.name, marks=marks.get(row.name, [])) for row in ROWS]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """The harmless op by itself."""
    return harmless_alone(tmp_path_factory.mktemp("alone"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kernels of Linux")
@pytest.mark.parametrize("row", params())
def test_a_hostile_kernel_gets_its_verdict_and_harms_nobody(row: Hostile, alone: Alone, here: Path) -> None:
    """One report, of a fair status, in time; no process is left, and the next op is judged as alone."""
    assert problems(row, here, alone) == []


def test_there_are_enough_hostile_kernels() -> None:
    """At least 60 with names of their own, each of which compiles."""
    assert len({row.name for row in HOSTILE}) == len(HOSTILE) >= 60
    assert set(NOT_YET) <= {row.name for row in HOSTILE}
    for row in HOSTILE:
        compile(kernel_of(row), row.name, "exec")
